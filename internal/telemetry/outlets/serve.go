package outlets

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/merit-rl/merit/internal/httpd"
)

// patience is the maximum time to read a scrape's request, and to answer it.
const patience = 10 * time.Second

// Server answers scrapes and probes at an address.
type Server struct{ http *httpd.Server }

// Serve serves h at addr, HOST:PORT. Everyone who can connect can read, so :PORT means
// this machine only; port 0 selects a free port. If the server fails, it only logs the
// error.
func Serve(addr string, h http.Handler, log *slog.Logger) (*Server, error) {
	if strings.HasPrefix(addr, ":") {
		addr = "127.0.0.1" + addr
	}
	l, err := httpd.Listen(addr, "--metrics")
	if err != nil {
		return nil, err
	}
	s := &Server{httpd.New(l, httpd.Config{Handler: h, Body: patience, Write: patience, Connections: 64, Log: log, Clear: true})}
	go func() {
		if err := s.http.Serve(context.Background()); !errors.Is(err, http.ErrServerClosed) {
			log.Warn("the metrics server has stopped; the work continues without it", "cause", err)
		}
	}()
	return s, nil
}

// URL returns the address of the server, without a path.
func (s *Server) URL() string { return s.http.URL() }

// Close frees the address.
func (s *Server) Close() error { return s.http.Close() }
