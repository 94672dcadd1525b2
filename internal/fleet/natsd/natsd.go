// Package natsd runs a NATS server with JetStream in this process, and says who may
// do what there: users are known by their nkeys, which are pairs of Ed25519 keys. It is
// the only package that knows the server's library.
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

// Options say what a server is like.
type Options struct {
	// Dir is where it keeps streams; it is made if it does not exist.
	Dir string
	// Listen is where clients of other processes come in, as HOST:PORT; port 0
	// takes a free one. Empty opens no port: only this process comes in.
	Listen string
	// Users are let in, and nobody else; none lets everybody in who reaches it,
	// which must be this machine only.
	Users []User
	// Teams have quotas. Users of a team that is not among them share what there is.
	Teams []Team
	// TLS, if it is set, is spoken with everybody who comes by the port. Beyond
	// this machine a server wants it, and users.
	TLS *tls.Config
	// Log is told what the server says; nil = nobody.
	Log *slog.Logger
}

// Server is a server that runs. After its disk was full it goes on by itself.
type Server struct {
	url    string
	dir    string
	log    *slog.Logger
	lock   *os.File
	stop   context.CancelFunc // of heal
	healed chan struct{}      // closed when it has ended

	mutex sync.Mutex // of what follows; heal alone writes s
	s     *server.Server
	o     Options         // of the next start
	kept  map[string]bool // teams that had users since the start
}

// MaxPayload is how many bytes a message may have.
const MaxPayload = 1 << 20

// Start starts a server and waits until it can be used.
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
		held.Close() // it holds nothing but the lock
		return nil, unstarted(o, err)
	}
	s := &Server{url: first.ClientURL(), dir: o.Dir, log: o.Log, lock: held, healed: make(chan struct{}), s: first, kept: map[string]bool{}}
	if a, ok := first.Addr().(*net.TCPAddr); ok {
		o.Listen = net.JoinHostPort(opts.Host, strconv.Itoa(a.Port)) // who comes again finds it there
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

// modern is c without old versions of TLS: both ends are of today.
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

// server are o as the server has them, with accounts for the teams of kept, too.
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

// Admit lets these users in from now on, with the quotas of these teams, and nobody
// else: who is connected and is not among them any more is thrown out, and the
// others go on undisturbed. On an error everything stays as it was. A server that
// everybody on this machine may use, or one that is to become so, must be started anew.
func (s *Server) Admit(users []User, teams []Team) error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if (len(users) == 0) != (len(s.o.Users) == 0) {
		return &fault.Error{Boundary: fault.Fleet, Kind: fault.Refused, Where: s.url, What: "a server that runs with users cannot go on without, nor the other way round", Hint: "stop it and start it again"}
	}
	o := s.o
	o.Users, o.Teams = users, teams
	opts, err := o.server(s.kept)
	if err == nil && s.s.Running() { // else heal starts one with them
		err = s.s.ReloadOptions(opts)
	}
	if err != nil {
		return &fault.Error{Boundary: fault.Fleet, Kind: fault.Invalid, Where: s.url, What: "the server cannot take these users while it runs", Err: err, Hint: "stop it and start it again: nothing of its queues is lost"}
	}
	s.o = o
	s.keep(users)
	return nil
}

// keep remembers the teams of users. While the server runs they keep their accounts:
// one that is taken away leaves its streams open, and made again it opens their files
// a second time.
func (s *Server) keep(users []User) {
	for _, u := range users {
		s.kept[cmp.Or(u.Team, DefaultTeam)] = true
	}
}

func unstarted(o Options, err error) error {
	if f := fault.As(err); f != nil || errors.Is(err, context.Canceled) {
		return err
	}
	return &fault.Error{Boundary: fault.Fleet, Kind: fault.Invalid, Where: o.Listen, What: "the server of the fleet cannot start", Err: err, Hint: fmt.Sprintf("look at the address and at the folder %s", o.Dir)}
}

// InProcessConn is a connection of this process; it is for nats.InProcessServer.
func (s *Server) InProcessConn() (net.Conn, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.s.InProcessConn()
}

// URL is where clients of other processes come in.
func (s *Server) URL() string { return s.url }

// Close ends the server and waits for it.
func (s *Server) Close() error {
	s.stop()
	<-s.healed
	s.s.Shutdown()
	s.s.WaitForShutdown()
	return s.lock.Close()
}
