package runscmd

import (
	"github.com/spf13/cobra"

	"github.com/merit-rl/merit/internal/cli/console"
	"github.com/merit-rl/merit/sdk/merit"
)

// NewSchemaCmd is the verb schema.
func NewSchemaCmd(h *console.Host) *cobra.Command {
	return console.SchemaVerb(h, "", "Print the JSON Schema of a configuration", `Schema prints what a configuration may hold, as a JSON Schema. An editor that
knows YAML completes and checks keys when the file begins with

  # yaml-language-server: $schema=train.schema.json`, merit.Schema)
}
