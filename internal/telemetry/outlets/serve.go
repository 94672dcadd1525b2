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

// patience is how long a scrape may take to ask, and to be answered.
const patience = 10 * time.Second

// Server answers scrapes and probes at an address.
type Server struct{ http *httpd.Server }

// Serve has h answer at addr, HOST:PORT. Everybody who reaches it can read, so
// :PORT is this machine alone; port 0 is any that is free. If nothing can be
// served any more, log says so and nothing else suffers.
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
			log.Warn("the server of metrics has stopped; the work continues without it", "cause", err)
		}
	}()
	return s, nil
}

// URL is where the server is, without a path.
func (s *Server) URL() string { return s.http.URL() }

// Close frees the address.
func (s *Server) Close() error { return s.http.Close() }
