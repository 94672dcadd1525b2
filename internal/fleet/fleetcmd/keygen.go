package fleetcmd

import (
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/cli/console"
	"github.com/merit-rl/merit/internal/fleet/natsd"
	"github.com/merit-rl/merit/internal/httpd/certificates"
)

type keygenOptions struct {
	host  *console.Host
	Users string   `flag:"users" usage:"users file to add the line to"`
	Team  string   `flag:"team" usage:"team of the key; teams share nothing with each other"`
	Names []string `flag:"name" usage:"name or address of the server (repeatable)" split:"yes"`
	Days  int      `flag:"days" usage:"days for which the server's certificate is valid"`
}

// newKeygenCmd returns the command fleet keygen.
func newKeygenCmd(h *console.Host) *cobra.Command {
	o := &keygenOptions{host: h, Days: 365}
	return console.Verb(&cobra.Command{
		Use:   "keygen ROLE FILE",
		Short: "Create a key for a coordinator, a worker, a watcher or a server",
		Long: `Keygen creates a key pair. It writes the secret key to FILE, which stays on the machine
that uses it. It prints the public key as a line for the users file that the server reads,
and adds the line to that file with --users.

  coordinator  trains and evaluates: it hands out work and sees all of its team
  worker       takes work and returns results, and can do nothing else
  watcher      sees workers, queues and logs
  server       a self-signed certificate, in FILE.pem, for the names by which others
               reach the server; they trust it with --ca FILE.pem`,
		Example: "  merit fleet keygen coordinator boss.key --users users\n  merit fleet keygen worker worker.key --users users\n  merit fleet keygen server server.key --name 10.0.0.5,trainer.lan",
		Args:    console.Exactly("ROLE", "FILE"),
		RunE:    o.run,
	}, o)
}

func (o *keygenOptions) run(cmd *cobra.Command, args []string) error {
	role, file := args[0], args[1]
	if role == "server" {
		return o.certificate(cmd, file)
	}
	for _, flag := range []string{"name", "days"} {
		if cmd.Flags().Changed(flag) {
			return console.Usage(cmd, "omit it", "--%s is only for the role server", flag)
		}
	}
	seed, public, err := natsd.NewKey()
	if err != nil {
		return err
	}
	line := strings.TrimSpace(public + " " + role + " " + o.Team)
	if _, err := natsd.ParseUsers("the line", line); err != nil {
		if f := fault.As(err); f != nil {
			return console.Usage(cmd, f.Hint, "%s", f.What)
		}
		return err
	}
	if err := natsd.WriteSeed(file, seed); err != nil {
		return err
	}
	if o.Users != "" {
		if err := natsd.AddUser(o.Users, line); err != nil {
			_ = os.Remove(file) // without its line in the users file the key is useless
			return err
		}
	}
	if o.host.Global.JSON {
		return o.host.PrintJSON(map[string]string{"public": public, "role": role, "team": o.Team, "file": file})
	}
	_, err = fmt.Fprintln(o.host.Stdout, line)
	return err
}

// certificate makes a server's key and self-signed certificate.
func (o *keygenOptions) certificate(cmd *cobra.Command, file string) error {
	switch {
	case o.Users != "" || o.Team != "":
		return console.Usage(cmd, "omit them", "--users and --team are not for the role server")
	case len(o.Names) == 0:
		return console.Usage(cmd, "add --name with the address that workers use, without the port", "a server's certificate needs the names by which others reach the server")
	case o.Days < 1 || o.Days > 3650:
		return console.Usage(cmd, "use a number of days from 1 to 3650", "--days %d is not allowed", o.Days)
	}
	public := strings.TrimSuffix(file, ".key") + ".pem"
	if err := certificates.Make(public, file, o.Names, o.host.Now(), time.Duration(o.Days)*24*time.Hour); err != nil {
		return err
	}
	if o.host.Global.JSON {
		return o.host.PrintJSON(map[string]string{"certificate": public, "file": file})
	}
	_, err := fmt.Fprintf(o.host.Stdout, "%s for %s; workers and coordinators trust the server with --ca and this file\n", public, strings.Join(o.Names, ", "))
	return err
}
