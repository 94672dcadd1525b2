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
		Long: `Install starts the plug-in once to get its description. It then copies the plug-in and
a manifest into a folder named after it in $MERIT_HOME/plugins (without MERIT_HOME, in
merit/plugins in the user's cache), and starts the copy to test that it runs.
It atomically replaces an installed plug-in of the same name.

Merit starts the copy only while its files are unchanged.`,
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
		return &fault.Error{Boundary: fault.Storage, Kind: fault.Missing, What: "no folder for plug-ins is set", Hint: "set MERIT_HOME or HOME"}
	}
	found, err := ask(cmd.Context(), path, "")
	if err != nil {
		return err
	}
	at, m, err := disk.Install(path, home, manifest(found), func(copied string) error {
		_, err := host.Inspect(cmd.Context(), copied, "")
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
		fmt.Fprintf(o.host.Stdout, "note: the name %s still means %s, which Merit finds first; name this one by its path\n", m.Name, first)
	}
	return nil
}
