// Package plugincmd implements the commands of `merit plugin`, for users and authors of
// environments and policies.
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

// NewCmd returns the command `merit plugin`, with the alias `merit plugins`.
func NewCmd(h *console.Host) *cobra.Command {
	return console.GroupOf(&cobra.Command{
		Use:     "plugin",
		Aliases: []string{"plugins"},
		Short:   "List, install, create and check environments and policies",
		Long: `A plug-in is an environment or a policy in a separate process: an executable file, a
Python file, or a folder whose plugin.yaml says how to start it. An environment may also
be a WebAssembly module (.wasm), which runs in the sandbox of rewards instead. So does one
in Python, if its path or name follows sandbox:, as in sandbox:./maze. Merit's own plug-ins
are built into merit, which starts itself again for each of them.

A configuration names a plug-in by its path (with a slash) or by its name. Merit looks a
name up in this order: the folders of $MERIT_PLUGINS, the built-in plug-ins, plugins next
to the merit binary, share/merit/plugins of its installation, bin/plugins, the installed
plug-ins, and the installed engines. A file in a folder of $MERIT_PLUGINS takes precedence
over a built-in plug-in of its name; builtin:NAME always means the built-in one.

The command is also available as merit plugins.`,
	}, newListCmd(h), newInfoCmd(h), newInstallCmd(h), newNewCmd(h), newBuildCmd(h), newCheckCmd(h), newBenchCmd(h))
}

// find returns the path of the plug-in that an argument names. An argument without a
// slash is a name; if no plug-in has that name but a file here does, find returns the
// file's path.
func find(h *console.Host, plugin string) (string, error) {
	path, err := host.Find(plugin, merit.PluginFolders(h.Env)...)
	if err != nil && !strings.ContainsRune(plugin, '/') {
		if here := "./" + plugin; disk.Check(here) == nil {
			return here, nil
		}
	}
	return path, err
}

// ask starts the plug-in at path and returns its description. It asks even if the
// plug-in's manifest is wrong.
func ask(ctx context.Context, path, digest string) (host.Found, error) {
	found, err := host.Inspect(ctx, path, digest)
	if err == nil && !disk.ValidName(found.Name) {
		err = &fault.Error{
			Boundary: fault.Plugin, Kind: fault.Refused, Where: path, What: "calls itself " + found.Name + ", which is not a valid plug-in name",
			Hint: "use lower-case letters, digits, - and _",
		}
	}
	return found, err
}

// manifest returns a plug-in's description as a manifest.
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
