package fleetcmd

import (
	"encoding/json"

	"github.com/spf13/cobra"

	"github.com/merit-rl/merit/internal/cli/console"
	"github.com/merit-rl/merit/internal/fleet/natsd"
)

// newAccountsCmd returns the command fleet accounts.
func newAccountsCmd(h *console.Host) *cobra.Command {
	o := struct {
		Helm bool `flag:"helm" usage:"print values for the Helm chart nats/nats"`
	}{}
	return console.Verb(&cobra.Command{
		Use:   "accounts USERS",
		Short: "Print the configuration of an external NATS server for a users file",
		Long: `Accounts converts a users file into configuration for a NATS server that you do
not start with Merit. The output has an account for each team, with its quotas, and
the subjects that each key may publish and subscribe to. Include it in the server's
configuration, or, with --helm, pass it to the official Helm chart as a values file.
It contains only public keys.

The server must run JetStream. If other machines reach it, it must also use TLS.`,
		Example: "  merit fleet accounts users\n  merit fleet accounts users --helm",
		Args:    console.Exactly("USERS"),
		RunE: func(_ *cobra.Command, args []string) error {
			users, err := natsd.ReadUsers(args[0])
			if err != nil {
				return err
			}
			text, err := natsd.Accounts(users.Users, users.Teams)
			if err == nil && o.Helm {
				text, err = values(text)
			}
			if err != nil {
				return err
			}
			_, err = h.Stdout.Write(text)
			return err
		},
	}, &o)
}

// values nests accounts under the chart's key for settings that it passes through.
func values(accounts []byte) ([]byte, error) {
	text, err := json.MarshalIndent(map[string]any{"config": map[string]any{"merge": json.RawMessage(accounts)}}, "", "  ")
	return append(text, '\n'), err
}
