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

// Server is a server of rewards that listens.
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
	closers   []func() // the last first
	reload    sync.Mutex
}

// Wall is what holds the rewards of a server.
type Wall struct {
	Isolation        sandbox.Isolation
	InForce, Missing []string // with isolation: process
}

// Options are what a configuration file does not say.
type Options struct {
	Logger *slog.Logger            // nil is nobody
	Getenv func(key string) string // nil is os.Getenv
	// Temporary removes what was uploaded when the server is closed, and what
	// a killed one has left at its place before.
	Temporary bool
}

// ErrAbandoned is the cause of a context that ends because nobody is left who
// waits for answers: Serve then ends at once.
var ErrAbandoned = errors.New("nobody uses the server any more")

// abandonedDrain is how long such a server takes to end.
const abandonedDrain = 2 * time.Second

// Open makes a server from a configuration that is valid, and listens: requests
// wait until Serve is called. The error lists every problem.
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

// Close frees everything. Serve has returned, or was never called.
func (s *Server) Close() {
	for i := len(s.closers) - 1; i >= 0; i-- {
		s.closers[i]()
	}
	s.closers = nil
}

// lastSpans is how long spans may take to a collector at the end.
const lastSpans = 5 * time.Second

// Wall says what holds the rewards.
func (s *Server) Wall() Wall { return s.wall }
