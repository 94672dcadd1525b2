// Package policyserver lets an agent use a policy that learnt from its traces:
// a server that speaks OpenAI's chat completions and answers with one of the
// policy's choices, and how likely it was. The agent changes its base URL and
// nothing else, and merit proxy before it records the next round.
package policyserver

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"time"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/httpd"
	"github.com/merit-rl/merit/internal/httpd/certificates"
	"github.com/merit-rl/merit/internal/traces/learning"
)

// connections is how many there are at one time.
const connections = 1024

// Config says where the server listens.
type Config struct {
	Listen string // HOST:PORT
	Key    string // that clients must send; needed where others than this machine can ask
	Name   string // of the model, in answers
	Drain  time.Duration
	TLS    certificates.Files // without them the server speaks in the clear
}

// DefaultConfig listens on this machine.
func DefaultConfig() Config {
	return Config{Listen: "127.0.0.1:8740", Name: "merit", Drain: 10 * time.Second}
}

// Server answers for a player.
type Server struct {
	cfg      Config
	player   *learning.Player
	listener net.Listener
	http     http.Server
	guesses  httpd.Guesses
	certs    *certificates.Certificates // nil without TLS
}

// Open listens for calls to p, which Close does not close.
func Open(p *learning.Player, cfg Config) (*Server, error) {
	err := cfg.check()
	if err != nil {
		return nil, err
	}
	s := &Server{cfg: cfg, player: p}
	if s.certs, err = certificates.Open(cfg.TLS); err != nil {
		return nil, err
	}
	if s.listener, err = net.Listen("tcp", cfg.Listen); err != nil {
		e := wrong(fault.Refused, "listen", cfg.Listen+" cannot be had", "choose another port; 0 takes a free one")
		e.Err = err
		return nil, e
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/chat/completions", s.complete)
	mux.HandleFunc("GET /v1/models", s.models)
	mux.HandleFunc("GET /health", func(w http.ResponseWriter, _ *http.Request) {
		reply(w, http.StatusOK, map[string]string{"status": "ok"})
	})
	s.http = http.Server{Handler: s.guard(http.NewCrossOriginProtection().Handler(mux)), ReadHeaderTimeout: 10 * time.Second, ReadTimeout: time.Minute, TLSConfig: s.certs.Config()}
	s.listener = httpd.Protect(&s.http, s.listener, connections)
	return s, nil
}

// check reports everything that is wrong with the configuration.
func (c Config) check() error {
	var p fault.Problems
	if _, _, err := net.SplitHostPort(c.Listen); err != nil {
		p = append(p, wrong(fault.Invalid, "listen", c.Listen+" is not of the form HOST:PORT", "write, for example, 127.0.0.1:8740"))
	} else if c.Key == "" && !httpd.Loopback(c.Listen) {
		p = append(p, wrong(fault.Refused, "listen", "without a key anybody who reaches "+c.Listen+" could use the policy", "name an environment variable with a key, or listen on 127.0.0.1"))
	}
	if weak := httpd.WeakKey(c.Key); c.Key != "" && weak != "" {
		p = append(p, wrong(fault.Invalid, "key", weak, "make one: openssl rand -hex 32"))
	}
	return errors.Join(append(p, c.TLS.Problems("tls")...)...)
}

// URL is the base URL that agents are given.
func (s *Server) URL() string { return s.certs.Scheme() + "://" + s.listener.Addr().String() + "/v1" }

// Serve answers until ctx ends, and then finishes what was asked.
func (s *Server) Serve(ctx context.Context) error {
	failed := make(chan error, 1)
	go func() { failed <- s.certs.Serve(&s.http, s.listener) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.cfg.Drain)
	defer cancel()
	err := s.http.Shutdown(drain)
	if served := <-failed; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}

// Close stops listening at once. It may be called more than once.
func (s *Server) Close() error { return s.http.Close() }

// guard lets only those in who have the key, or, without one, who ask this
// machine by its name: the page of a browser whose name was made to mean
// 127.0.0.1 says its own.
func (s *Server) guard(next http.Handler) http.Handler {
	want := sha256.Sum256([]byte("Bearer " + s.cfg.Key))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got := sha256.Sum256([]byte(r.Header.Get("Authorization")))
		switch {
		case s.cfg.Key == "" && !httpd.Loopback(r.Host):
			fail(w, http.StatusForbidden, "permission_error", "a server without a key is asked by the name localhost, or by its address")
		case s.cfg.Key != "" && subtle.ConstantTimeCompare(got[:], want[:]) != 1 && !s.guesses.Wrong(r):
			w.Header().Set("Retry-After", "1")
			fail(w, http.StatusTooManyRequests, "rate_limit_error", "this address has sent too many wrong keys: use the server's key, and ask again in a second")
		case s.cfg.Key != "" && subtle.ConstantTimeCompare(got[:], want[:]) != 1:
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
	_ = json.NewEncoder(w).Encode(body) // whoever asked may be gone
}

// fail says what is wrong as OpenAI's clients read it.
func fail(w http.ResponseWriter, status int, kind, what string) {
	reply(w, status, map[string]any{"error": map[string]string{"type": kind, "message": what}})
}

func wrong(kind fault.Kind, where, what, hint string) *fault.Error {
	return &fault.Error{Boundary: fault.CLI, Kind: kind, Where: where, What: what, Hint: hint}
}
