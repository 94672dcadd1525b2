// Package promptcmd holds the verbs of merit optimize.
package promptcmd

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/merit-rl/merit/internal/cli/console"
	"github.com/merit-rl/merit/internal/prompt/optimize"
)

// NewCmd is the verb optimize with the verbs below it.
func NewCmd(h *console.Host) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "optimize",
		Short: "Optimize prompts",
		Args:  console.UnknownCommand,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newPromptCmd(h), newSchemaCmd(h))
	return cmd
}

// newSchemaCmd is the verb optimize schema.
func newSchemaCmd(h *console.Host) *cobra.Command {
	return &cobra.Command{
		Use:     "schema",
		Short:   "Print the JSON Schema of a configuration of optimize prompt, for editors",
		Example: "  merit optimize schema > optimize.schema.json",
		Args:    console.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			text, err := optimize.Schema()
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(h.Stdout, string(text))
			return err
		},
	}
}
