package fleetcmd

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/merit-rl/merit/internal/cli/console"
	"github.com/merit-rl/merit/internal/fleet/natsd"
	"github.com/merit-rl/merit/internal/httpd/certificates"
)

type serveOptions struct {
	host   *console.Host
	listen string
	dir    string
	users  string
	files  certificates.Files
}

// newServeCmd is the verb fleet serve.
func newServeCmd(h *console.Host) *cobra.Command {
	o := &serveOptions{host: h}
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run the server of a fleet, for runs that come and go",
		Long: `Serve runs a NATS server with JetStream: the queue between runs and workers. It
keeps what waits in a folder, so that it may be stopped and started at any time:
runs and workers wait for it. Without users it listens on this machine only;
beyond it, it wants a file of users and a certificate.

A change of the file of users counts a few seconds later: who is not in it any more
is thrown out, who was added comes in, quotas are the new ones, and the others do not
notice. A file that is wrong changes nothing; the log says all that is wrong with it.
A renewed certificate counts from the next connection.`,
		Example: "  merit fleet serve\n  merit fleet serve --listen 0.0.0.0:4222 --users users --tls-cert server.pem --tls-key server.key",
		Args:    console.NoArgs,
		RunE:    o.run,
	}
	f := cmd.Flags()
	f.StringVar(&o.listen, "listen", "127.0.0.1:4222", "HOST:PORT to listen on")
	f.StringVar(&o.dir, "dir", "fleet", "the folder of what waits")
	f.StringVar(&o.users, "users", "", "the file of users: who may come, and as what")
	f.StringVar(&o.files.Cert, "tls-cert", "", "the server's certificate, a PEM file")
	f.StringVar(&o.files.Key, "tls-key", "", "the private key of --tls-cert")
	renamed(cmd)
	return cmd
}

func (o *serveOptions) run(cmd *cobra.Command, _ []string) (err error) {
	if (o.files.Cert == "") != (o.files.Key == "") {
		return console.Usage(cmd, "give both or none", "--tls-cert and --tls-key go together")
	}
	certs, err := certificates.Open(o.files)
	if err != nil {
		return err
	}
	var users natsd.Users
	who := "everybody on this machine"
	if o.users != "" {
		if users, err = natsd.ReadUsers(o.users); err != nil {
			return err
		}
		who = whose(users)
	}
	s, err := natsd.Start(cmd.Context(), natsd.Options{
		Dir: o.dir, Listen: o.listen, Users: users.Users, Teams: users.Teams, TLS: certs.Config(), Log: o.host.Logger(),
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if o.host.Global.JSON {
		err = o.host.PrintJSON(map[string]string{"url": s.URL()})
	} else {
		_, err = fmt.Fprintf(o.host.Stdout, "serving a fleet on %s for %s\n", s.URL(), who)
	}
	if err != nil {
		return err
	}
	if o.users != "" {
		defer s.Follow(o.users, users, nil, nil, func(users natsd.Users) {
			if !o.host.Global.JSON {
				_, _ = fmt.Fprintf(o.host.Stdout, "now for %s\n", whose(users))
			}
		})()
	}
	<-cmd.Context().Done()
	return nil
}

// whose says for whom a server is.
func whose(users natsd.Users) string {
	var teams []string
	for _, t := range users.Teams {
		teams = append(teams, t.Name)
	}
	return fmt.Sprintf("who has one of %d keys (%s)", len(users.Users), strings.Join(teams, ", "))
}
