// Package plugincmd holds the verbs of `merit plugin`: for people who look for
// environments and policies, and for those who write them.
package plugincmd

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/cli/console"
	"github.com/merit-rl/merit/internal/host"
	"github.com/merit-rl/merit/internal/host/disk"
	"github.com/merit-rl/merit/sdk/merit"
)

// NewCmd makes `merit plugin`, which also answers to `merit plugins`.
func NewCmd(h *console.Host) *cobra.Command {
	return console.GroupOf(&cobra.Command{
		Use:     "plugin",
		Aliases: []string{"plugins"},
		Short:   "List, install, create and check environments and policies",
		Long: `A plug-in is an environment or a policy in a process of its own: an executable
file, a Python file, or a folder whose plugin.yaml says what starts it. Merit's own
are built into merit, which starts itself again for each of them.

A configuration names it by its path (with a slash) or by its name, which is
looked up in the folders of $MERIT_PLUGINS, among those built in, in plugins beside
the merit binary, in share/merit/plugins of its installation, in bin/plugins, among
those installed, and with the engines that are installed. A file in a folder of
$MERIT_PLUGINS wins over a built-in plug-in of its name; builtin:NAME always means
the built-in one.

Both merit plugin and merit plugins are this command.`,
	}, newListCmd(h), newInfoCmd(h), newInstallCmd(h), newNewCmd(h), newCheckCmd(h), newBenchCmd(h))
}

// find returns the path of a plug-in that an argument names. Without a slash it
// is a name; what is no plug-in's name but a file here is taken as a path.
func find(h *console.Host, plugin string) (string, error) {
	path, err := host.Find(plugin, merit.PluginFolders(h.Env)...)
	if err != nil && !strings.ContainsRune(plugin, '/') {
		if here := "./" + plugin; disk.Check(here) == nil {
			return here, nil
		}
	}
	return path, err
}

// ask starts the plug-in at path and returns what it says of itself. Its own
// manifest is no reason not to ask.
func ask(ctx context.Context, path string) (host.Found, error) {
	found, err := host.Inspect(ctx, path)
	if err == nil && !disk.ValidName(found.Name) {
		err = &fault.Error{
			Boundary: fault.Plugin, Kind: fault.Refused, Where: path, What: "calls itself " + found.Name + ", which is no name for a plug-in",
			Hint: "use lower-case letters, digits, - and _",
		}
	}
	return found, err
}

// manifest is what a plug-in said, as its manifest says it.
func manifest(found host.Found) disk.Manifest {
	return disk.Manifest{
		Name: found.Name, Version: found.Version, Kind: found.Kind, Summary: found.Summary, Protocol: int(found.Protocol),
		Options: disk.Schema(found.Options),
	}
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}
