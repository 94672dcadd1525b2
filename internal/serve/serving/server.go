package serving

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"os"
	"sync"
	"time"

	"github.com/merit-rl/merit/internal/httpd"
	"github.com/merit-rl/merit/internal/httpd/certificates"
	"github.com/merit-rl/merit/internal/serve"
	"github.com/merit-rl/merit/internal/serve/library"
	"github.com/merit-rl/merit/internal/serve/tenant"
	"github.com/merit-rl/merit/sandbox"
)

// Server is a reward server that listens.
type Server struct {
	config    *Config
	log       *slog.Logger
	listener  net.Listener
	certs     *certificates.Certificates // nil without TLS
	registry  *tenant.Registry
	scheduler *tenant.Scheduler
	ledger    *tenant.Ledger // nil without accounting
	library   *library.Library
	serve     *serve.Server
	http      *httpd.Server
	wall      Wall
	closers   []func() // called in reverse order
	reload    sync.Mutex
}

// Wall describes how a server isolates rewards.
type Wall struct {
	Isolation        sandbox.Isolation
	InForce, Missing []string // protections that apply or are missing; only for isolation: process
}

// Options are settings that a configuration file does not contain.
type Options struct {
	Logger *slog.Logger            // nil discards the log
	Getenv func(key string) string // nil means os.Getenv
	// Temporary deletes uploads when the server is closed, and deletes those that a killed
	// server left behind when it is opened.
	Temporary bool
}

// ErrAbandoned is the cause with which to cancel Serve's context if no client waits for
// answers. Serve then returns soon.
var ErrAbandoned = errors.New("nobody uses the server any more")

// abandonedDrain is the grace period of such a server.
const abandonedDrain = 2 * time.Second

// Open creates a server from a valid configuration and listens. Requests wait until Serve is
// called. The error joins every problem.
func Open(ctx context.Context, c *Config, o Options) (*Server, error) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Getenv == nil {
		o.Getenv = os.Getenv
	}
	s := &Server{config: c, log: o.Logger, scheduler: tenant.NewScheduler(c.Slots)}
	if err := s.open(ctx, o); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

func (s *Server) open(ctx context.Context, o Options) (err error) {
	if s.certs, err = certificates.Open(s.config.TLS); err != nil {
		return err
	}
	if err := s.openTenants(); err != nil {
		return err
	}
	if s.listener, err = listen(s.config.Listen); err != nil {
		return err
	}
	s.later(func() { s.listener.Close() })
	if err := s.openLibrary(ctx, o); err != nil {
		return err
	}
	return s.assemble(ctx)
}

func (s *Server) later(f func()) { s.closers = append(s.closers, f) }

// Close frees everything. Call it after Serve has returned, or without having called Serve.
func (s *Server) Close() {
	for i := len(s.closers) - 1; i >= 0; i-- {
		s.closers[i]()
	}
	s.closers = nil
}

// lastSpans is how long sending the last spans may take at shutdown.
const lastSpans = 5 * time.Second

// Wall describes how the server isolates rewards.
func (s *Server) Wall() Wall { return s.wall }
