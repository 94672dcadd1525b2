// Package envserver serves any environment of Merit over the protocol of OpenEnv. A
// session is a WebSocket and has its own slot of a plug-in process. The messages are in
// internal/openenv/shape, and the assignment of sessions to slots in
// internal/openenv/share; this package connects them with a listener.
package envserver

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/merit-rl/merit/core/action"
	"github.com/merit-rl/merit/core/env"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/host"
	"github.com/merit-rl/merit/internal/httpd"
	"github.com/merit-rl/merit/internal/httpd/certificates"
	"github.com/merit-rl/merit/internal/mcp"
	"github.com/merit-rl/merit/internal/openenv/shape"
	"github.com/merit-rl/merit/internal/openenv/share"
	"github.com/merit-rl/merit/sdk/merit"
)

// spare is the number of connections beyond one per session: for clients that are told
// that the server is full, and for requests over HTTP.
const spare = 256

// Server serves one environment.
type Server struct {
	config   Config
	log      *slog.Logger
	key      string
	pool     *share.Pool
	spec     env.Spec
	about    host.Found
	schema   shape.Schema
	parser   *action.Parser // for texts
	caller   *action.Parser // for tool calls
	parsed   bool           // a text is searched for the action
	seed     rl.Seed
	unseeded atomic.Uint64 // episodes without a seed in the request
	tools    []mcp.Tool    // over MCP
	talks    talks         // sessions over MCP
	http     *httpd.Server
	who      httpd.Guard

	stopping context.Context // canceled when no new requests are accepted
	stop     context.CancelFunc
	sessions sync.WaitGroup
}

// Options are settings that are in neither configuration.
type Options struct {
	Logger *slog.Logger            // nil discards logs
	Getenv func(key string) string // nil means os.Getenv
	Merit  []merit.Option          // options for finding the environment
}

// Open starts the processes of cfg's environment and listens; sessions wait until Serve
// is called. The error lists every problem.
func Open(ctx context.Context, cfg *merit.Config, c Config, o Options) (s *Server, err error) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Getenv == nil {
		o.Getenv = os.Getenv
	}
	s = &Server{config: c, log: o.Logger, seed: rl.Seed(cfg.Seed)}
	var key error
	s.key, key = httpd.EnvKey("--key-env", c.KeyEnv, o.Getenv)
	if err := errors.Join(append(c.Validate(), key)...); err != nil {
		return nil, err
	}
	certs, err := certificates.Open(c.TLS)
	if err != nil {
		return nil, err
	}
	open, found, err := merit.FindEnvironment(ctx, cfg, c.Split, append([]merit.Option{merit.WithLogger(o.Logger), merit.WithVariables(o.Getenv)}, o.Merit...)...)
	if err != nil {
		return nil, err
	}
	s.about = found
	l, err := httpd.Listen(c.Listen, "--listen")
	if err != nil {
		return nil, err
	}
	s.pool, err = share.New(ctx, c.Processes, func(ctx context.Context, i int) (env.Env, error) { return open(ctx, c.Split, i) }, o.Logger)
	if err != nil {
		return nil, errors.Join(cfg.Places.Explain("environment", err), l.Close())
	}
	s.spec = s.pool.Spec()
	var texts, calls error
	s.parser, texts = action.New(cfg.Rollout.Action, s.spec.Actions, s.spec.Tools)
	s.caller, calls = action.New(action.Config{Parse: action.ToolCalls, Take: action.Only}, nil, s.spec.Tools)
	var list error
	s.parsed = cfg.Rollout.Action.Parse != action.None
	s.tools, list = s.offered()
	if err := errors.Join(texts, calls, list); err != nil {
		return nil, errors.Join(err, l.Close(), s.Close())
	}
	s.schema = s.schemas()
	s.stopping, s.stop = context.WithCancel(context.Background())
	s.who.Key, s.who.Here = s.key, s.key == ""
	s.http = httpd.New(l, httpd.Config{Handler: s.routes(), TLS: certs.Config(), Body: patience, Idle: time.Minute, Connections: s.pool.Capacity() + spare, Log: o.Logger})
	return s, nil
}

// URL returns the address of the server.
func (s *Server) URL() string { return s.http.URL() }

// Capacity returns the maximum number of concurrent sessions.
func (s *Server) Capacity() int { return s.pool.Capacity() }

// About describes what is served.
func (s *Server) About() host.Found { return s.about }

// Serve accepts sessions until ctx is canceled. Then it answers pending requests and
// closes each session. It returns an error if that takes longer than Config.Drain.
func (s *Server) Serve(ctx context.Context) error {
	if err := s.http.Serve(ctx); err != nil {
		return err
	}
	s.log.Info("draining", "sessions", s.pool.Sessions(), "at_most", s.config.Drain)
	s.stop()
	drain, cancel := context.WithTimeout(context.Background(), s.config.Drain)
	defer cancel()
	err := s.http.Drain(drain)
	s.talks.end("")
	done := make(chan struct{})
	go func() { s.sessions.Wait(); close(done) }()
	select {
	case <-done:
	case <-drain.Done():
		err = drain.Err()
	}
	return s.http.Late(err, s.config.Drain, "raise --drain; the unfinished episodes are lost")
}

// Close stops the processes. Call it after Serve, or instead of Serve.
func (s *Server) Close() error {
	var err error
	if s.http != nil {
		_ = s.http.Close() // already closed if Serve was called
	}
	if s.pool != nil {
		err = s.pool.Close()
	}
	return err
}
