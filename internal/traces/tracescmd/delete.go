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
		Short: "Delete traces by ID, for example when a person requests it",
		Long: `Delete removes traces with everything recorded in them, including rewards. If an ID
		is not in the store, delete removes nothing. It does not touch exports and backups.`,
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
