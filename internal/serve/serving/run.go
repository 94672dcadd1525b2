package serving

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"time"

	"github.com/merit-rl/merit/internal/serve/ready"
	"github.com/merit-rl/merit/sandbox"
)

// URL is where the server listens: http://127.0.0.1:8700, or unix:PATH.
func (s *Server) URL() string { return s.http.URL() }

// Serve answers requests until ctx ends. Then it takes no new ones, answers all
// that it has accepted and returns nil; if that takes longer than drain, the
// error says how it ended.
func (s *Server) Serve(ctx context.Context) error {
	if err := s.http.Serve(ctx); err != nil {
		return err
	}
	most := s.config.Drain
	if errors.Is(context.Cause(ctx), ErrAbandoned) {
		most = min(most, abandonedDrain)
	}
	s.log.Info("draining", "at_most", most)
	drain, cancel := context.WithTimeout(context.Background(), most)
	defer cancel()
	err := s.serve.Drain(drain)
	if err == nil {
		err = s.http.Drain(drain) // answers that are on their way out
	}
	return s.http.Late(err, most, "give drain more time; clients that got no answer ask again")
}

// Reload reads certificates, tenants, keys and the operator's rewards again, and
// opens the accounting file again, which may have been renamed. What is wrong
// stays as it was; the error lists every problem.
func (s *Server) Reload(ctx context.Context) error {
	s.reload.Lock()
	defer s.reload.Unlock()
	wrong := []error{s.certs.Reload()}
	if s.config.Tenants != "" {
		wrong = append(wrong, s.registry.Reload())
	}
	if s.ledger != nil {
		wrong = append(wrong, s.ledger.Reopen())
	}
	return errors.Join(append(wrong, s.share(ctx))...)
}

// Private is the configuration of a server for the programs of one user: on a
// socket, with one tenant who needs no key, and uploads that go with it. Its
// folder is beside the socket, so that whoever removes that removes all.
func Private(socket string) *Config {
	c := DefaultConfig()
	c.Listen, c.Dir = "unix:"+socket, privateDir(socket)
	c.Sandbox.Isolation = sandbox.Snapshot
	c.Most = ready.Most{Fuel: 1 << 50, MemoryMiB: 4095, WallClock: 24 * time.Hour}
	return c
}

func privateDir(socket string) string {
	return filepath.Join(filepath.Dir(socket), strings.TrimPrefix(filepath.Base(socket)+".rewards", "."))
}
