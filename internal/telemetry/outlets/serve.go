package outlets

import (
	"errors"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/httpd"
)

// patience is how long a scrape may take to ask, and to be answered.
const patience = 10 * time.Second

// connections is how many there are at one time.
const connections = 64

// Server answers scrapes and probes at an address.
type Server struct {
	http *http.Server
	addr net.Addr
}

// Serve has h answer at addr, HOST:PORT. Everybody who reaches it can read, so
// :PORT is this machine alone; port 0 is any that is free. If nothing can be
// served any more, log says so and nothing else suffers.
func Serve(addr string, h http.Handler, log *slog.Logger) (*Server, error) {
	if strings.HasPrefix(addr, ":") {
		addr = "127.0.0.1" + addr
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, &fault.Error{
			Boundary: fault.Config, Kind: fault.Refused, Where: addr, What: "metrics cannot be served there", Err: err,
			Hint: "give HOST:PORT with a port that is free, such as 127.0.0.1:9464",
		}
	}
	s := &Server{&http.Server{Handler: h, ReadTimeout: patience, WriteTimeout: patience, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn)}, l.Addr()}
	l = httpd.Protect(s.http, l, connections)
	go func() {
		if err := s.http.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			log.Warn("metrics are served no more; the work goes on", "cause", err)
		}
	}()
	return s, nil
}

// URL is where the server is, without a path.
func (s *Server) URL() string { return "http://" + s.addr.String() }

// Close frees the address.
func (s *Server) Close() error { return s.http.Close() }
