// Package natsd runs a NATS server with JetStream in this process. It and what
// is below it are the only packages that know the server's library.
package natsd

import (
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
	"github.com/merit-rl/merit/core/fleet/keys"
	"github.com/merit-rl/merit/core/fleet/natsd/internal/start"
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
	Users []keys.User
	// Teams have quotas. Users of a team that is not among them share what there is.
	Teams []keys.Team
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

	mutex sync.Mutex // of what follows; heal alone writes it
	s     *server.Server
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
	opts, err := o.server()
	if err != nil {
		return nil, unstarted(o, err)
	}
	held, err := lock(o.Dir)
	if err != nil {
		return nil, unstarted(o, err)
	}
	first, err := start.Server(ctx, opts, o.Log)
	if err != nil {
		held.Close() // it holds nothing but the lock
		return nil, unstarted(o, err)
	}
	s := &Server{url: first.ClientURL(), dir: o.Dir, log: o.Log, lock: held, healed: make(chan struct{}), s: first}
	if a, ok := first.Addr().(*net.TCPAddr); ok {
		o.Listen = net.JoinHostPort(opts.Host, strconv.Itoa(a.Port)) // who comes again finds it there
	}
	ctx, s.stop = context.WithCancel(context.WithoutCancel(ctx))
	go s.heal(ctx, func(ctx context.Context) (*server.Server, error) {
		opts, err := o.server()
		if err != nil {
			return nil, err
		}
		return start.Server(ctx, opts, o.Log)
	})
	return s, nil
}

// server are o as the server has them.
func (o Options) server() (*server.Options, error) {
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
	return opts, accounts(opts, o.Users, o.Teams)
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
