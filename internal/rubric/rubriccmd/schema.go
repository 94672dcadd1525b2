package rubriccmd

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/merit-rl/merit/internal/cli/console"
	"github.com/merit-rl/merit/internal/rubric"
)

// newSchemaCmd is the verb rubric schema.
func newSchemaCmd(h *console.Host) *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of a rubric, for models and editors",
		Long: `Schema prints what a rubric may hold, as a JSON Schema (draft 2020-12). It says all
that merit rubric validate asks for but that the weights sum to 1, and that no key
and no name stands twice.`,
		Example: "  merit rubric schema > rubric.schema.json",
		Args:    console.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintln(h.Stdout, string(rubric.Schema()))
			return err
		},
	}
}
