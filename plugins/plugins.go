// Package plugins lists the environments and policies that come with Merit. A program can run
// each of them in a separate process without a separate file: it starts itself again as
// the plug-in.
package plugins

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"

	"github.com/merit-rl/merit/internal/host/disk"
	"github.com/merit-rl/merit/internal/wire"
	tiles "github.com/merit-rl/merit/plugins/internal/2048"
	"github.com/merit-rl/merit/plugins/internal/dataset"
	"github.com/merit-rl/merit/plugins/internal/frozenlake"
	"github.com/merit-rl/merit/plugins/internal/grid"
	"github.com/merit-rl/merit/plugins/internal/htdag"
	"github.com/merit-rl/merit/plugins/internal/mcp"
	"github.com/merit-rl/merit/plugins/internal/openai"
	"github.com/merit-rl/merit/plugins/internal/openenv"
	"github.com/merit-rl/merit/plugins/internal/planner"
	"github.com/merit-rl/merit/plugins/internal/rubric"
	"github.com/merit-rl/merit/plugins/internal/sokoban"
	"github.com/merit-rl/merit/plugins/internal/toolbox"
	"github.com/merit-rl/merit/sdk/plugin"
)

// argument is the first argument with which a program starts itself as a plug-in; the name of
// the plug-in follows.
const argument = "merit-plugin"

// shipped is a built-in plug-in.
type shipped struct {
	manifest func() (disk.Manifest, error) // its description, without starting it
	serve    func()
}

var all = map[string]shipped{
	"2048":       environment(tiles.Definition),
	"dataset":    environment(dataset.Definition),
	"frozenlake": environment(frozenlake.Definition),
	"grid":       environment(grid.Definition),
	"htdag":      environment(htdag.Definition),
	"mcp":        environment(mcp.Definition),
	"openai":     policy(openai.Definition),
	"openenv":    environment(openenv.Definition),
	"planner":    policy(planner.Definition),
	"rubric":     environment(rubric.Definition),
	"sokoban":    environment(sokoban.Definition),
	"toolbox":    environment(toolbox.Definition),
}

func environment[Options any](definition func() plugin.Definition[Options]) shipped {
	return shipped{
		manifest: func() (disk.Manifest, error) {
			d := definition()
			options, err := d.OptionsJSON()
			return manifest[Options]("environment", d.Name, d.Version, d.Summary, options), err
		},
		serve: func() { plugin.Serve(definition()) },
	}
}

func policy[Options any](definition func() plugin.PolicyDefinition[Options]) shipped {
	return shipped{
		manifest: func() (disk.Manifest, error) {
			d := definition()
			options, err := d.OptionsJSON()
			return manifest[Options]("policy", d.Name, d.Version, d.Summary, options), err
		},
		serve: func() { plugin.ServePolicy(definition()) },
	}
}

func manifest[Options any](kind, name, version, summary string, options json.RawMessage) disk.Manifest {
	schema := disk.Schema(options)
	if schema != nil {
		describe(schema, reflect.TypeFor[Options]())
	}
	return disk.Manifest{Name: name, Version: version, Kind: kind, Summary: summary, Protocol: wire.Protocol, Options: schema}
}

// Main gives a program the plug-ins that come with Merit, so that configurations find them by
// name. Call it first in main. In a process that was started as one of the plug-ins, Main
// serves that plug-in and does not return.
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

// serve runs a plug-in until its process exits. The arguments are those that a separate
// program would have.
func serve(args []string) int {
	s, ok := all[args[0]]
	if !ok {
		fmt.Fprintf(os.Stderr, "no built-in plug-in %q exists; choose one of %s\n", args[0], strings.Join(slices.Sorted(maps.Keys(all)), ", "))
		return 2
	}
	os.Args = args
	s.serve()
	return 0
}
