package collecting

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"syscall"
	"time"

	"golang.org/x/net/netutil"
	"google.golang.org/grpc"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/httpd"
	"github.com/merit-rl/merit/internal/httpd/certificates"
	"github.com/merit-rl/merit/internal/traces"
	"github.com/merit-rl/merit/internal/traces/collect"
)

// connections is how many there are at one time; more wait until one ends.
const connections = 1024

// Server receives traces.
type Server struct {
	config    *Config
	log       *slog.Logger
	sink      *Sink
	collector *collect.Collector
	certs     *certificates.Certificates // nil without TLS
	web, rpc  net.Listener               // rpc is nil without gRPC
	http      *http.Server
	grpc      *grpc.Server
}

// Listen opens the sink and the ports of a configuration that is valid: who
// connects waits until Serve is called.
func Listen(ctx context.Context, c *Config, o Options) (s *Server, err error) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	s = &Server{config: c, log: o.Logger}
	key := ""
	if c.KeyFile != "" {
		if key, err = httpd.ReadKey(c.KeyFile); err != nil {
			return nil, err
		}
	}
	if s.certs, err = certificates.Open(c.TLS); err != nil {
		return nil, err
	}
	if s.web, err = listen("listen", c.Listen); err != nil {
		return nil, err
	}
	if c.GRPC != "" {
		if s.rpc, err = listen("grpc", c.GRPC); err != nil {
			return nil, errors.Join(err, s.web.Close())
		}
	}
	if s.sink, err = Open(ctx, c, o); err != nil {
		s.hangUp()
		return nil, err
	}
	s.collector = collect.New(collect.Options{Sink: s.sink, Key: key, MaxBody: c.MaxBody})
	s.http = &http.Server{
		Handler: s.collector.Handler(), ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 2 * time.Minute, IdleTimeout: 3 * time.Minute, MaxHeaderBytes: 64 << 10,
		ErrorLog: slog.NewLogLogger(o.Logger.Handler(), slog.LevelDebug), TLSConfig: s.certs.Config(),
	}
	s.web = httpd.Protect(s.http, s.web, connections)
	if s.grpc = s.collector.Server(); s.rpc != nil {
		s.rpc = netutil.LimitListener(s.rpc, connections)
	}
	return s, nil
}

func listen(key, address string) (net.Listener, error) {
	l, err := net.Listen("tcp", address)
	if err == nil {
		return l, nil
	}
	f := &fault.Error{Boundary: fault.Config, Kind: fault.Invalid, Where: key, What: "the collector cannot listen on " + address, Err: err, Hint: "choose another address with " + key}
	if errors.Is(err, syscall.EADDRINUSE) {
		f.Hint = "stop what listens there, or choose another port with " + key
	} else if errors.Is(err, fs.ErrPermission) {
		f.Hint = "choose a port above 1023 with " + key
	}
	return nil, f
}

// URL is where OTLP over HTTP and the plain form are received.
func (s *Server) URL() string { return s.certs.Scheme() + "://" + s.web.Addr().String() }

// GRPC is where OTLP over gRPC is received; empty for nowhere.
func (s *Server) GRPC() string {
	if s.rpc == nil {
		return ""
	}
	return s.rpc.Addr().String()
}

// Store is the address of the store.
func (s *Server) Store() string { return traces.Address(s.config.Store) }

// Sink is where the spans go.
func (s *Server) Sink() *Sink { return s.sink }

// Counts are what was received so far.
func (s *Server) Counts() collect.Counts { return s.collector.Counts() }

// Serve receives until ctx ends. Then it takes nothing new, finishes what it has
// accepted and returns nil; if that takes longer than drain, the error says so.
func (s *Server) Serve(ctx context.Context) error {
	ended := make(chan error, 2)
	go func() { ended <- s.certs.Serve(s.http, s.web) }()
	if s.rpc != nil {
		go func() { ended <- s.grpc.Serve(s.certs.Listener(s.rpc)) }()
	}
	select {
	case err := <-ended:
		return &fault.Error{Boundary: fault.Server, Kind: fault.Crashed, Where: s.URL(), What: "the collector can listen no more", Err: err, Hint: "start it again"}
	case <-ctx.Done():
	}
	s.log.Info("draining", "at_most", s.config.Drain)
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.config.Drain)
	defer cancel()
	finished := make(chan struct{})
	go func() {
		defer close(finished)
		s.grpc.GracefulStop()
	}()
	err := s.http.Shutdown(drain)
	select {
	case <-finished:
	case <-drain.Done():
		err = errors.Join(err, context.Cause(drain))
		s.grpc.Stop()
	}
	if err != nil {
		return &fault.Error{
			Boundary: fault.Server, Kind: fault.Timeout, Where: s.URL(), What: "not every request was answered in " + s.config.Drain.String(), Err: errors.Join(err, s.http.Close()),
			Hint: "give drain more time; exporters send again what was not answered",
		}
	}
	return nil
}

func (s *Server) hangUp() {
	s.web.Close()
	if s.rpc != nil {
		s.rpc.Close()
	}
}

// Close frees everything, when Serve has returned or was never called.
func (s *Server) Close() error {
	s.hangUp()
	s.grpc.Stop()
	return errors.Join(s.http.Close(), s.sink.Close())
}
