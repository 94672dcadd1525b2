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
		Short: "Print a users file as the configuration of a NATS server",
		Long: `Accounts prints a users file as a part of the configuration of a NATS server that you or
others run: an account with quotas for each team, and what each key may publish and
subscribe to. Merit's own server uses the same configuration. Include
the output in the server's configuration, or with --helm pass it to the official Helm
chart as a file of values. It contains public keys only.

The server must run JetStream and, if it serves other machines, TLS.`,
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
