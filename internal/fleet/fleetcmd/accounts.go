package fleetcmd

import (
	"encoding/json"

	"github.com/spf13/cobra"

	"github.com/merit-rl/merit/internal/cli/console"
	"github.com/merit-rl/merit/internal/fleet/natsd"
)

// newAccountsCmd is the verb fleet accounts.
func newAccountsCmd(h *console.Host) *cobra.Command {
	o := struct {
		Helm bool `flag:"helm" usage:"as values of the chart nats/nats"`
	}{}
	return console.Verb(&cobra.Command{
		Use:   "accounts USERS",
		Short: "What another NATS server must know of a file of users",
		Long: `Accounts prints, for a NATS server that somebody else runs, the part of its
configuration that merit's own server makes of a file of users: an account for each
team, with its quotas, and what each key may publish and hear. The server includes
it; the official Helm chart takes it as one more file of values, with --helm. It
holds public keys only.

The server must run JetStream, and beyond one machine TLS.`,
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

// values puts accounts where the chart takes what it has no name for.
func values(accounts []byte) ([]byte, error) {
	text, err := json.MarshalIndent(map[string]any{"config": map[string]any{"merge": json.RawMessage(accounts)}}, "", "  ")
	return append(text, '\n'), err
}
