package tracescmd

import (
	"github.com/spf13/cobra"

	"github.com/merit-rl/merit/internal/cli/console"
	"github.com/merit-rl/merit/internal/traces/store"
)

// newDeleteCmd returns merit traces delete.
func newDeleteCmd(p *place) *cobra.Command {
	return &cobra.Command{
		Use:   "delete ID…",
		Short: "Remove single traces, for example on a person's request",
		Long: `Delete removes traces and everything recorded in them, including rewards. If one of the ids
is not in the store, it removes none. It does not change exports and backups.`,
		Example: "  merit traces delete 4f2a 91c0",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return console.Usage(cmd, "pass trace IDs; list them with merit traces list", "%s needs at least one ID", cmd.CommandPath())
			}
			ask := func(s *store.Store) (store.Pruned, error) { return s.Delete(cmd.Context(), args) }
			return asked(p, cmd.Context(), ask, p.removed("removed"))
		},
	}
}
