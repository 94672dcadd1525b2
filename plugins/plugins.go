// Package plugins lists the environments and policies that come with Merit, so
// that a program can run each of them in a process of its own without a file of
// its own: it starts itself again as the plug-in.
package plugins

import (
	"fmt"
	"os"

	"github.com/merit-rl/merit/plugins/host/disk"
	tiles "github.com/merit-rl/merit/plugins/internal/2048"
	"github.com/merit-rl/merit/plugins/internal/dataset"
	"github.com/merit-rl/merit/plugins/internal/frozenlake"
	"github.com/merit-rl/merit/plugins/internal/grid"
	"github.com/merit-rl/merit/plugins/internal/htdag"
	"github.com/merit-rl/merit/plugins/internal/openai"
	"github.com/merit-rl/merit/plugins/internal/openenv"
	"github.com/merit-rl/merit/plugins/internal/planner"
	"github.com/merit-rl/merit/plugins/internal/rubric"
	"github.com/merit-rl/merit/plugins/internal/sokoban"
	"github.com/merit-rl/merit/plugins/internal/toolbox"
	"github.com/merit-rl/merit/sdk/plugin"
	"github.com/merit-rl/merit/sdk/plugin/wire"
)

// argument is what a program is started with, before the name of a plug-in, to
// become that plug-in.
const argument = "merit-plugin"

// shipped is a plug-in of this program.
type shipped struct {
	kind     string
	describe func() (wire.Description, error)
	serve    func()
}

var all = map[string]shipped{
	"2048":       environment(tiles.Definition),
	"dataset":    environment(dataset.Definition),
	"frozenlake": environment(frozenlake.Definition),
	"grid":       environment(grid.Definition),
	"htdag":      environment(htdag.Definition),
	"openai":     policy(openai.Definition),
	"openenv":    environment(openenv.Definition),
	"planner":    policy(planner.Definition),
	"rubric":     environment(rubric.Definition),
	"sokoban":    environment(sokoban.Definition),
	"toolbox":    environment(toolbox.Definition),
}

func environment[Options any](definition func() plugin.Definition[Options]) shipped {
	return shipped{
		kind:     "environment",
		describe: func() (wire.Description, error) { return definition().Describe() },
		serve:    func() { plugin.Serve(definition()) },
	}
}

func policy[Options any](definition func() plugin.PolicyDefinition[Options]) shipped {
	return shipped{
		kind:     "policy",
		describe: func() (wire.Description, error) { return definition().Describe() },
		serve:    func() { plugin.ServePolicy(definition()) },
	}
}

// Main gives a program the plug-ins that come with Merit: configurations then
// find them by their names. It must come first in main. In a process that was
// started as one of the plug-ins it serves that, and does not return.
func Main() {
	if len(os.Args) > 2 && os.Args[1] == argument {
		os.Exit(serve(os.Args[2:]))
	}
	manifests := map[string]func() (disk.Manifest, error){}
	for name, s := range all {
		manifests[name] = s.manifest
	}
	disk.OfferBuiltins(argument, manifests)
}

// serve is the life of a plug-in's process. The arguments are those that a
// program of its own would have.
func serve(args []string) int {
	s, ok := all[args[0]]
	if !ok {
		fmt.Fprintf(os.Stderr, "there is no built-in plug-in %q; merit plugin list shows those there are\n", args[0])
		return 2
	}
	os.Args = args
	s.serve()
	return 0
}

// manifest says what the plug-in is without starting it.
func (s shipped) manifest() (disk.Manifest, error) {
	d, err := s.describe()
	return disk.Manifest{
		Name: d.Name, Version: d.Version, Kind: s.kind, Summary: d.Summary, Protocol: int(d.Protocol), Options: disk.Schema(d.Options),
	}, err
}
