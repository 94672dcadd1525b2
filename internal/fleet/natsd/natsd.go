// Package natsd runs a NATS server with JetStream in this process and defines what its users
// may do. Users authenticate with nkeys, which are pairs of Ed25519 keys. Only this package
// imports the server's library.
package natsd

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strconv"
	"sync"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/merit-rl/merit/core/fault"
)

// Options configure a server.
type Options struct {
	// Dir is the folder for streams. It is created if it does not exist.
	Dir string
	// Listen is the address for clients in other processes, as HOST:PORT; port 0 selects a free
	// port. If Listen is empty, only this process can connect.
	Listen string
	// Users are the only users that the server accepts. If empty, the server accepts every
	// client, and must listen only on this machine.
	Users []User
	// Teams have quotas. Users of other teams have none.
	Teams []Team
	// TLS, if not nil, is used for all connections to the port. To accept other machines, the
	// server needs TLS and Users.
	TLS *tls.Config
	// Log receives the server's log; nil discards it.
	Log *slog.Logger
}

// Server is a running server. It recovers by itself after its disk was full.
type Server struct {
	url    string
	dir    string
	log    *slog.Logger
	lock   *os.File
	stop   context.CancelFunc // of heal
	healed chan struct{}      // closed when heal has returned

	mutex sync.Mutex // guards the fields below; only heal writes s
	s     *server.Server
	o     Options         // for the next start
	kept  map[string]bool // teams that had users since the start
}

// MaxPayload is the largest size of a message, in bytes.
const MaxPayload = 1 << 20

// Start starts a server and waits until it accepts connections.
func Start(ctx context.Context, o Options) (*Server, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	o.TLS = modern(o.TLS)
	opts, err := o.server(nil)
	if err != nil {
		return nil, unstarted(o, err)
	}
	held, err := lock(o.Dir)
	if err != nil {
		return nil, unstarted(o, err)
	}
	first, err := run(ctx, opts, o.Log)
	if err != nil {
		held.Close() // the file only holds the lock
		return nil, unstarted(o, err)
	}
	s := &Server{url: first.ClientURL(), dir: o.Dir, log: o.Log, lock: held, healed: make(chan struct{}), s: first, kept: map[string]bool{}}
	if a, ok := first.Addr().(*net.TCPAddr); ok {
		o.Listen = net.JoinHostPort(opts.Host, strconv.Itoa(a.Port)) // a restart listens on the same port
	}
	s.o = o
	s.keep(o.Users)
	ctx, s.stop = context.WithCancel(context.WithoutCancel(ctx))
	go s.heal(ctx, func(ctx context.Context) (*server.Server, error) {
		s.mutex.Lock()
		opts, err := s.o.server(s.kept)
		s.mutex.Unlock()
		if err != nil {
			return nil, err
		}
		return run(ctx, opts, o.Log)
	})
	return s, nil
}

// modern returns c restricted to TLS 1.3 and later, which all Merit clients support.
func modern(c *tls.Config) *tls.Config {
	if c == nil {
		return nil
	}
	c = c.Clone()
	c.MinVersion = max(c.MinVersion, tls.VersionTLS13)
	if chosen := c.GetConfigForClient; chosen != nil {
		c.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
			c, err := chosen(hello)
			return modern(c), err
		}
	}
	return c
}

// server returns the library's options for o. Teams in kept get accounts even if they have no
// users.
func (o Options) server(kept map[string]bool) (*server.Options, error) {
	opts := &server.Options{
		ServerName: "merit", StoreDir: o.Dir, JetStream: true, NoSigs: true,
		MaxPayload: MaxPayload, DontListen: o.Listen == "", NoSystemAccount: false,
	}
	if o.Listen != "" {
		host, port, err := net.SplitHostPort(o.Listen)
		if err != nil {
			return nil, err
		}
		opts.Host = host
		if opts.Port, err = net.LookupPort("tcp", port); err != nil {
			return nil, err
		}
		if opts.Port == 0 {
			opts.Port = server.RANDOM_PORT
		}
	}
	if o.TLS != nil {
		opts.TLSConfig, opts.TLS, opts.TLSTimeout = o.TLS, true, 10
	}
	return opts, accounts(opts, o.Users, o.Teams, kept)
}

// Admit replaces the accepted users and the quotas of teams. The server disconnects users who
// are no longer accepted and does not disturb the others. On an error nothing changes. A server
// cannot change between having users and having none; restart it instead.
func (s *Server) Admit(users []User, teams []Team) error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if (len(users) == 0) != (len(s.o.Users) == 0) {
		return &fault.Error{Boundary: fault.Fleet, Kind: fault.Refused, Where: s.url, What: "a running server cannot change between having users and having none", Hint: "stop it and start it again"}
	}
	o := s.o
	o.Users, o.Teams = users, teams
	opts, err := o.server(s.kept)
	if err == nil && s.s.Running() { // else heal starts the server with them
		err = s.s.ReloadOptions(opts)
	}
	if err != nil {
		return &fault.Error{Boundary: fault.Fleet, Kind: fault.Invalid, Where: s.url, What: "the running server cannot apply these users", Err: err, Hint: "restart the server; its queues are kept"}
	}
	s.o = o
	s.keep(users)
	return nil
}

// keep remembers the teams of users. They keep their accounts while the server runs: an account
// that is removed leaves its streams open, and creating it again would open the files of the
// streams a second time.
func (s *Server) keep(users []User) {
	for _, u := range users {
		s.kept[cmp.Or(u.Team, DefaultTeam)] = true
	}
}

func unstarted(o Options, err error) error {
	if f := fault.As(err); f != nil || errors.Is(err, context.Canceled) {
		return err
	}
	return &fault.Error{Boundary: fault.Fleet, Kind: fault.Invalid, Where: o.Listen, What: "the fleet's server cannot start", Err: err, Hint: fmt.Sprintf("check the address and the folder %s", o.Dir)}
}

// InProcessConn returns a connection within this process, for nats.InProcessServer.
func (s *Server) InProcessConn() (net.Conn, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.s.InProcessConn()
}

// URL returns the address for clients in other processes.
func (s *Server) URL() string { return s.url }

// Close shuts the server down and waits for it.
func (s *Server) Close() error {
	s.stop()
	<-s.healed
	s.s.Shutdown()
	s.s.WaitForShutdown()
	return s.lock.Close()
}
