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

// URL returns the address of the server, such as http://127.0.0.1:8700 or unix:PATH.
func (s *Server) URL() string { return s.http.URL() }

// Serve answers requests until ctx is canceled. Then it refuses new requests, answers the
// accepted ones and returns nil. If that takes longer than Config.Drain, it returns an error.
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
		err = s.http.Drain(drain) // wait for responses that are still being sent
	}
	return s.http.Late(err, most, "raise drain; clients without a response retry")
}

// Reload rereads certificates, tenants, keys and the operator's rewards, and reopens the
// accounting file, which may have been renamed. Invalid parts stay unchanged. The error joins
// every problem.
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

// Private returns the configuration of a server for one user's programs. It listens on a
// socket, needs no key, and its uploads are temporary. Its folder is next to the socket, so
// that removing the folder that holds both removes everything.
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
