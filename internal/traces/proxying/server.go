package proxying

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"time"

	"github.com/merit-rl/merit/internal/httpd"
	"github.com/merit-rl/merit/internal/httpd/certificates"
	"github.com/merit-rl/merit/internal/traces/collecting"
	"github.com/merit-rl/merit/internal/traces/proxy"
	"github.com/merit-rl/merit/internal/traces/store"
)

// Options are the dependencies of a proxy.
type Options struct {
	Logger *slog.Logger            // nil discards logs
	Getenv func(key string) string // nil means os.Getenv
}

// Server is a listening proxy.
type Server struct {
	config   Config
	store    string
	log      *slog.Logger
	sink     *collecting.Sink
	proxy    *proxy.Proxy
	http     *httpd.Server
	requests context.CancelFunc
}

// pause is how long an agent may take to send the next part of a request.
const pause = time.Minute

// Open opens the store and listens; calls wait until Serve. The error lists every
// problem, and on error everything is closed.
func Open(ctx context.Context, c Config, o Options) (*Server, error) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Getenv == nil {
		o.Getenv = os.Getenv
	}
	r, err := c.resolve(o.Getenv)
	if err != nil {
		return nil, err
	}
	s := &Server{config: c, store: r.collect.Store, log: o.Logger}
	certs, err := certificates.Open(c.TLS)
	if err != nil {
		return nil, err
	}
	l, err := httpd.Listen(c.Listen, "--listen")
	if err != nil {
		return nil, err
	}
	if s.sink, err = collecting.Open(ctx, r.collect, collecting.Options{Logger: o.Logger, Getenv: o.Getenv}); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	s.proxy, err = proxy.New(proxy.Options{
		Upstream: r.upstream, Key: r.upstreamKey, Add: json.RawMessage(c.Add), Agent: c.Agent, Task: c.Task,
		Sink: s.sink, Log: o.Logger,
	})
	if err != nil {
		return nil, errors.Join(err, l.Close(), s.sink.Close())
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /-/stats", s.stats)
	mux.Handle("/", s.proxy)
	life, cancel := context.WithCancel(context.Background())
	s.requests = cancel
	s.http = httpd.New(l, httpd.Config{Handler: guard(mux, r), Pause: pause, TLS: certs.Config(), Life: life, Log: o.Logger})
	return s, nil
}

// URL returns the address of the proxy; agents append /v1.
func (s *Server) URL() string { return s.http.URL() }

// Summary returns what was redacted and scored.
func (s *Server) Summary() collecting.Summary { return s.sink.Summary() }

// Stats returns what was recorded.
func (s *Server) Stats() proxy.Stats { return s.proxy.Stats() }

// Store returns the address of the store.
func (s *Server) Store() string {
	address := store.Address(s.store)
	if u, err := url.Parse(address); err == nil && u.User != nil {
		return u.Redacted()
	}
	return address
}

// Serve forwards calls until ctx is canceled. Then it accepts no new calls, waits for
// those in progress, records all of them and closes the store. It cuts off calls that
// take longer than Drain, and records that. The error says what was lost.
func (s *Server) Serve(ctx context.Context) error {
	crashed := s.http.Serve(ctx)
	drain, cancel := context.WithTimeout(context.Background(), s.config.Drain)
	defer cancel()
	if err := s.http.Drain(drain); err != nil {
		s.log.Warn("shutdown cut off calls", "after", s.config.Drain)
		s.requests()
	}
	record, cancel := context.WithTimeout(context.Background(), s.config.Drain)
	defer cancel()
	return errors.Join(crashed, s.close(record))
}

// Close closes a server on which Serve was not called.
func (s *Server) Close() error { return s.close(context.Background()) }

func (s *Server) close(ctx context.Context) error {
	return errors.Join(s.http.Close(), s.proxy.Close(ctx), s.sink.Close())
}

func (s *Server) stats(w http.ResponseWriter, _ *http.Request) {
	text, _ := json.Marshal(s.Stats()) // numbers and one string: encoding cannot fail
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(append(text, '\n'))
}
