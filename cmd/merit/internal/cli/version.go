package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/merit-rl/merit/cmd/merit/internal/console"
	"github.com/merit-rl/merit/sdk/merit"
)

func newVersionCmd(h *console.Host) *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Example: "  merit version --json",
		Args:    console.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			v := merit.ReadVersion()
			if h.Global.JSON {
				return h.PrintJSON(v)
			}
			_, err := fmt.Fprintln(h.Stdout, versionLine(v))
			return err
		},
	}
}

func versionLine(v merit.Version) string {
	return fmt.Sprintf("merit %s %s %s", v.Version, v.Go, v.Platform)
}
