package plugincmd

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/cli/console"
	"github.com/merit-rl/merit/internal/host"
	"github.com/merit-rl/merit/internal/host/disk"
	"github.com/merit-rl/merit/sdk/merit"
)

type installOptions struct{ host *console.Host }

func newInstallCmd(h *console.Host) *cobra.Command {
	o := &installOptions{host: h}
	return &cobra.Command{
		Use:   "install PATH",
		Short: "Copy a plug-in to where configurations find it by its name",
		Long: `Install starts the plug-in once to ask it who it is, copies it into a folder of
its name in $MERIT_HOME/plugins (without MERIT_HOME, merit/plugins in the user's
cache) with a manifest of what it said, and starts the copy to see that it runs.
One of the same name is replaced at once.

The copy is started only while its files are those that were installed.`,
		Example: "  merit plugin install ./maze",
		Args:    console.Exactly("PATH"),
		RunE:    o.run,
	}
}

func (o *installOptions) run(cmd *cobra.Command, args []string) error {
	path, err := find(o.host, args[0])
	if err != nil {
		return err
	}
	home := disk.Home(o.host.Env)
	if home == "" {
		return &fault.Error{Boundary: fault.Storage, Kind: fault.Missing, What: "there is no folder to install plug-ins into", Hint: "set MERIT_HOME or HOME"}
	}
	found, err := ask(cmd.Context(), path)
	if err != nil {
		return err
	}
	at, m, err := disk.Install(path, home, manifest(found), func(copied string) error {
		_, err := host.Inspect(cmd.Context(), copied)
		return err
	})
	if err != nil {
		return err
	}
	first, err := host.Find(m.Name, merit.PluginFolders(o.host.Env)...)
	if o.host.Global.JSON {
		return o.host.PrintJSON(listing{Name: m.Name, Path: at, Hidden: err == nil && first != at, Manifest: m})
	}
	fmt.Fprintf(o.host.Stdout, "%s %s (%s) in %s\n%s\n", m.Name, m.Version, m.Kind, at, m.Digest)
	if err == nil && first != at {
		fmt.Fprintf(o.host.Stdout, "note: the name %s still means %s, which is found first; name this one by its path\n", m.Name, first)
	}
	return nil
}
