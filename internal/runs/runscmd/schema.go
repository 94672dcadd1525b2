package runscmd

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/merit-rl/merit/internal/cli/console"
	"github.com/merit-rl/merit/sdk/merit"
)

// NewSchemaCmd is the verb schema.
func NewSchemaCmd(h *console.Host) *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of a configuration",
		Long: `Schema prints what a configuration may hold, as a JSON Schema. An editor that
knows YAML completes and checks keys when the file begins with

  # yaml-language-server: $schema=train.schema.json`,
		Example: "  merit schema > train.schema.json",
		Args:    console.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			text, err := merit.Schema()
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(h.Stdout, string(text))
			return err
		},
	}
}
