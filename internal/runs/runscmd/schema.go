package runscmd

import (
	"github.com/spf13/cobra"

	"github.com/merit-rl/merit/internal/cli/console"
	"github.com/merit-rl/merit/sdk/merit"
)

// NewSchemaCmd returns the schema command.
func NewSchemaCmd(h *console.Host) *cobra.Command {
	return console.SchemaVerb(h, "", "Print the JSON Schema of a configuration", `Schema prints the JSON Schema of a configuration. An editor with
YAML support completes and checks keys if the file begins with

  # yaml-language-server: $schema=train.schema.json`, merit.Schema)
}
