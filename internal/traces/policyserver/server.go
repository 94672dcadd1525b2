// Package policyserver serves a policy that learned from an agent's traces through
// OpenAI's chat completions API. It answers with one of the policy's choices and its
// log-probability. The agent only changes its base URL, and merit traces proxy in between
// records the next round.
package policyserver

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/httpd"
	"github.com/merit-rl/merit/internal/httpd/certificates"
	"github.com/merit-rl/merit/internal/traces/learning"
)

// Config configures the server.
type Config struct {
	Listen string // HOST:PORT
	Key    string // that clients must send; required if other machines can connect
	Name   string // of the model, in answers
	Drain  time.Duration
	TLS    certificates.Files // without them the server does not encrypt
	Logger *slog.Logger       // nil discards logs
}

// DefaultConfig returns a server on this machine.
func DefaultConfig() Config {
	return Config{Listen: "127.0.0.1:8740", Name: "merit", Drain: 10 * time.Second}
}

// Server answers calls with a player.
type Server struct {
	cfg    Config
	player *learning.Player
	http   *httpd.Server
	who    httpd.Guard
}

// Open listens for calls to p. Close does not close p.
func Open(p *learning.Player, cfg Config) (*Server, error) {
	err := cfg.check()
	if err != nil {
		return nil, err
	}
	s := &Server{cfg: cfg, player: p, who: httpd.Guard{Key: cfg.Key, Here: cfg.Key == ""}}
	certs, err := certificates.Open(cfg.TLS)
	if err != nil {
		return nil, err
	}
	l, err := httpd.Listen(cfg.Listen, "--listen")
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/chat/completions", s.complete)
	mux.HandleFunc("GET /v1/models", s.models)
	mux.HandleFunc("GET /health", func(w http.ResponseWriter, _ *http.Request) {
		reply(w, http.StatusOK, map[string]string{"status": "ok"})
	})
	s.http = httpd.New(l, httpd.Config{Handler: s.guard(http.NewCrossOriginProtection().Handler(mux)), Body: time.Minute, TLS: certs.Config(), Log: cfg.Logger})
	return s, nil
}

// check reports every problem of the configuration.
func (c Config) check() error {
	var p fault.Problems
	httpd.CheckListen(&p, "--listen", c.Listen, c.Key != "", "--key-env", "use the policy")
	httpd.CheckKey(&p, c.Key, "make one: openssl rand -hex 32")
	return errors.Join(append(p, c.TLS.Problems("tls")...)...)
}

// URL returns the base URL for agents.
func (s *Server) URL() string { return s.http.URL() + "/v1" }

// Serve answers until ctx is canceled, and then finishes requests in progress.
func (s *Server) Serve(ctx context.Context) error {
	return s.http.Run(ctx, s.cfg.Drain, "raise --drain")
}

// Close stops listening immediately. It may be called more than once.
func (s *Server) Close() error { return s.http.Close() }

// guard admits requests with the key or, if there is none, requests to localhost or
// an IP address. A web page whose host name was rebound to 127.0.0.1 sends its own
// host name.
func (s *Server) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch s.who.Check(w, r, s.who.Right(httpd.Bearer(r.Header))) {
		case http.StatusForbidden:
			fail(w, http.StatusForbidden, "permission_error", "a server without a key accepts requests only for localhost or its IP address")
		case http.StatusTooManyRequests:
			fail(w, http.StatusTooManyRequests, "rate_limit_error", "this address has sent too many wrong keys: use the server's key, and retry in a second")
		case http.StatusUnauthorized:
			fail(w, http.StatusUnauthorized, "authentication_error", "send the server's key: Authorization: Bearer KEY")
		default:
			next.ServeHTTP(w, r)
		}
	})
}

func (s *Server) models(w http.ResponseWriter, _ *http.Request) {
	type model struct {
		ID     string `json:"id"`
		Object string `json:"object"`
		Owner  string `json:"owned_by"`
	}
	reply(w, http.StatusOK, map[string]any{"object": "list", "data": []model{{s.cfg.Name, "model", "merit"}}})
}

func reply(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // the client may have disconnected
}

// fail reports an error in the form that OpenAI's clients read.
func fail(w http.ResponseWriter, status int, kind, what string) {
	reply(w, status, map[string]any{"error": map[string]string{"type": kind, "message": what}})
}
