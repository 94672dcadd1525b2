package fleet

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/fleet/natsd"
	"github.com/merit-rl/merit/internal/fleet/queue"
	"github.com/merit-rl/merit/internal/httpd/certificates"
	"github.com/merit-rl/merit/sdk/merit"
)

// guests are those whom a file lets in, in the one team that an embedded server has.
type guests struct {
	natsd.Users
	team string
}

// host is a server in this process before it runs.
type host struct {
	guests
	own   []natsd.User // of this process: the coordinator, its workers, who joins or watches here
	certs *certificates.Certificates
}

// embed starts the server and those who work beside it.
func (f *Opened) embed(ctx context.Context, cfg *merit.Config, o OpenOptions, c *queue.Options) error {
	h, err := openHost(*Of(cfg))
	if err != nil {
		return err
	}
	boss, err := h.add(natsd.Coordinator)
	if err != nil {
		return err
	}
	seeds := make([][]byte, o.Workers)
	for i := range seeds {
		if seeds[i], err = h.add(natsd.Worker); err != nil {
			return err
		}
	}
	join := Joining{Key: filepath.Join(f.dir.Path, "worker.key"), Watch: filepath.Join(f.dir.Path, "watcher.key")}
	for file, role := range map[string]natsd.Role{join.Key: natsd.Worker, join.Watch: natsd.Watcher} {
		seed, err := h.add(role)
		if err == nil {
			err = natsd.WriteSeed(file, seed)
		}
		if err != nil {
			return err
		}
	}
	if f.server, err = natsd.Start(ctx, natsd.Options{
		Dir: filepath.Join(f.dir.Path, "server"), Listen: Of(cfg).Listen, Users: h.all(h.guests), Teams: h.Teams, TLS: h.certs.Config(), Log: o.Log,
	}); err != nil {
		return err
	}
	c.Server, c.URL, c.Seed = f.server, "", boss
	join.URL = f.server.URL()
	if h.certs != nil {
		if f.door, err = f.server.Beside(); err != nil {
			return stored(err)
		}
		join.URL, join.Certificate = f.door.URL(), Of(cfg).Cert
	}
	if Of(cfg).Users != "" {
		if h.certs != nil {
			join.Beyond = beyond(f.server.URL(), h.certs.Config())
		}
		f.follows = h.follow(f.server, Of(cfg).Users, o.Log)
	}
	if o.Joinable != nil {
		o.Joinable(join)
	}
	f.children, err = startChildren(join.URL, seeds, variablesOf(cfg), o)
	return err
}

// openHost reads whom a server lets in, and its certificate. Where other machines
// reach it there are both: the keys of this process are for this machine.
func openHost(cfg Config) (h host, err error) {
	if err := natsd.CheckLocks(cfg.Listen, cfg.Users != "", cfg.Cert != ""); err != nil {
		return h, err
	}
	h.team = natsd.DefaultTeam
	if cfg.Users != "" {
		if h.guests, err = readGuests(cfg.Users); err != nil {
			return h, err
		}
	}
	h.certs, err = certificates.Open(certificates.Files{Cert: cfg.Cert, Key: cfg.CertKey})
	return h, err
}

func readGuests(path string) (guests, error) {
	users, err := natsd.ReadUsers(path)
	if err != nil {
		return guests{}, err
	}
	return invited(path, users)
}

// invited are users of one team, whose the run is then.
func invited(path string, users natsd.Users) (guests, error) {
	g := guests{users, users.Users[0].Team}
	for _, u := range users.Users {
		if u.Team != g.team {
			return g, &fault.Error{
				Boundary: fault.Fleet, Kind: fault.Invalid, Where: path, What: fmt.Sprintf("it names the teams %s and %s, and a server of one run has one team", g.team, u.Team),
				Hint: "take out the others, or start a server that stays: merit fleet serve",
			}
		}
	}
	return g, nil
}

// add makes a key for this process.
func (h *host) add(role natsd.Role) (seed []byte, err error) {
	seed, public, err := natsd.NewKey()
	h.own = append(h.own, natsd.User{Key: public, Role: role, Team: h.team})
	return seed, err
}

// all are the users of this process and those of g.
func (h *host) all(g guests) []natsd.User { return slices.Concat(h.own, g.Users.Users) }

// follow lets in whom the file names as it changes, until the function that it
// returns is called.
func (h *host) follow(s *natsd.Server, path string, log *slog.Logger) (end func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var ends sync.WaitGroup
	ends.Go(func() {
		natsd.Follow(ctx, path, h.Users, time.Second, func(users natsd.Users, err error) {
			var g guests
			if err == nil {
				g, err = invited(path, users)
			}
			if err == nil && g.team != h.team {
				err = fmt.Errorf("the team of this run is %s, and not %s", h.team, g.team)
			}
			if err == nil {
				err = s.Admit(h.all(g), g.Teams)
			}
			if err != nil {
				log.Error("the users stay as they were: the file cannot be taken", "file", path, "cause", err)
				return
			}
			log.Warn("the users of the fleet have changed", "file", path)
		})
	})
	return func() { cancel(); ends.Wait() }
}

// beyond is the address for other machines: that which the server listens at, or,
// where it listens at all of them, the first name of its certificate.
func beyond(address string, c *tls.Config) string {
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	if ip := net.ParseIP(u.Hostname()); ip == nil || !ip.IsUnspecified() {
		return address
	}
	current, err := c.GetConfigForClient(nil)
	if err != nil || len(current.Certificates) == 0 {
		return address
	}
	leaf, err := x509.ParseCertificate(current.Certificates[0].Certificate[0])
	if err != nil {
		return address
	}
	names := leaf.DNSNames
	for _, ip := range leaf.IPAddresses {
		names = append(names, ip.String())
	}
	names = slices.DeleteFunc(names, func(name string) bool {
		return strings.HasPrefix(name, "*") || name == "localhost" || name == "127.0.0.1" || name == "::1"
	})
	if len(names) == 0 {
		return address
	}
	u.Host = net.JoinHostPort(names[0], u.Port())
	return u.String()
}
