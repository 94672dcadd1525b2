// Package serve provides rewards and advantage estimators over HTTP: uploads, evaluations as
// objects, arrays and streams, advantages, and metrics for operators. It uses tenants, their
// reward library and the pipeline of core. It does not know the sandbox or listeners:
// internal/serve/serving combines these.
package serve

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
	"golang.org/x/sync/semaphore"

	"github.com/merit-rl/merit/internal/httpd"
	"github.com/merit-rl/merit/internal/serve/library"
	"github.com/merit-rl/merit/internal/serve/shape"
	"github.com/merit-rl/merit/internal/serve/tenant"
)

// Options configure a Server.
type Options struct {
	Registry  *tenant.Registry  // authenticates tenants
	Scheduler *tenant.Scheduler // decides whose evaluation runs next
	Library   *library.Library  // the tenants' rewards
	Limits    Limits
	// DefaultReward is the reference of the reward for other tools' request formats if the path
	// names none. Empty means that there is none.
	DefaultReward string
	// OnUnscored is the response to those formats for an evaluation without a score, unless the
	// request sets it. The zero value responds with an error.
	OnUnscored shape.OnUnscored
	// Operators are the tenants that see the metrics of all tenants.
	Operators []string
	// OnlyHere accepts requests only if they use a name of this machine. It is for loopback
	// servers without keys: a web page could reach such a server by pointing its own host name
	// to the loopback address (DNS rebinding).
	OnlyHere bool
	Version  string               // of the server, informational
	Logger   *slog.Logger         // nil discards the log
	Tracer   trace.TracerProvider // nil disables tracing; see Tracing
}

// Limits bound memory use and times. Zero means the default that is given for each field.
type Limits struct {
	Body         int64 `yaml:"body" jsonschema:"minimum=0" hint:"use a number above 0, or 0 for the default"`         // largest size in bytes of a request that is not a stream or an upload; 0: 64 MiB
	Upload       int64 `yaml:"upload" jsonschema:"minimum=0" hint:"use a number above 0, or 0 for the default"`       // largest size in bytes of an uploaded reward, packed and unpacked; 0: 64 MiB
	Conversation int   `yaml:"conversation" jsonschema:"minimum=0" hint:"use a number above 0, or 0 for the default"` // largest size in bytes of one trajectory as JSON; 0: 8 MiB
	Batch        int   `yaml:"batch" jsonschema:"minimum=0" hint:"use a number above 0, or 0 for the default"`        // largest number of trajectories in a request that is not a stream; 0: 65,536
	Group        int   `yaml:"group" jsonschema:"minimum=0" hint:"use a number above 0, or 0 for the default"`        // largest number of members of a group in a stream; 0: 1,024
	Rows         int   `yaml:"rows" jsonschema:"minimum=0" hint:"use a number above 0, or 0 for the default"`         // largest number of rows in a request for advantages; 0: 1,000,000
	Requests     int   `yaml:"requests" jsonschema:"minimum=0" hint:"use a number above 0, or 0 for the default"`     // largest number of simultaneous requests of one tenant, if there are several tenants; 0: 1,024
	// Memory is the largest total size in bytes of the bodies and stream windows of all
	// requests. 0: 1 GiB.
	Memory int64 `yaml:"memory" jsonschema:"minimum=0" hint:"use a number above 0, or 0 for the default"`
	// Idle is how long a client may pause while it sends a request or reads a response. 0: 5
	// minutes.
	Idle time.Duration `yaml:"idle" jsonschema:"minimum=0" hint:"use a number above 0, or 0 for the default"`
}

func (l Limits) orDefaults() Limits {
	for _, x := range []struct {
		to *int64
		or int64
	}{{&l.Body, 64 << 20}, {&l.Upload, 64 << 20}, {&l.Memory, 1 << 30}} {
		if *x.to == 0 {
			*x.to = x.or
		}
	}
	for _, x := range []struct {
		to *int
		or int
	}{{&l.Conversation, 8 << 20}, {&l.Batch, 1 << 16}, {&l.Group, 1 << 10}, {&l.Rows, 1e6}, {&l.Requests, 1 << 10}} {
		if *x.to == 0 {
			*x.to = x.or
		}
	}
	if l.Idle == 0 {
		l.Idle = 5 * time.Minute
	}
	l.Memory = max(l.Memory, l.Body, l.Upload, l.window())
	return l
}

// window returns the largest size of lines that a stream has read but not answered, in bytes.
func (l Limits) window() int64 { return max(16<<20, 2*int64(l.Conversation)) }

// Server handles requests. It is safe for concurrent use.
type Server struct {
	Options
	memory  *semaphore.Weighted
	metrics *metrics
	tracer  trace.Tracer
	who     httpd.Guard
	handler http.Handler

	mu       sync.Mutex
	draining bool
	active   int              // running requests
	idle     chan struct{}    // closed when draining and no request is running
	streams  map[*call]func() // functions that stop reading each stream
}

// New returns a server. It does not listen: see Handler.
func New(o Options) *Server {
	o.Limits = o.Limits.orDefaults()
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Tracer == nil {
		o.Tracer = noop.NewTracerProvider()
	}
	s := &Server{
		Options: o, memory: semaphore.NewWeighted(o.Limits.Memory), idle: make(chan struct{}), streams: map[*call]func(){},
		tracer: o.Tracer.Tracer("github.com/merit-rl/merit/internal/serve"), who: httpd.Guard{Here: o.OnlyHere},
	}
	s.metrics = newMetrics(s)
	s.handler = s.router()
	return s
}

// Handler returns the handler for all paths.
func (s *Server) Handler() http.Handler { return s.handler }

// Drain refuses new requests and makes streams stop after the lines that they have read. It
// returns when every request has its response, or with the error of ctx.
func (s *Server) Drain(ctx context.Context) error {
	s.mu.Lock()
	if !s.draining {
		s.draining = true
		for _, interrupt := range s.streams {
			interrupt()
		}
		if s.active == 0 {
			close(s.idle)
		}
	}
	s.mu.Unlock()
	select {
	case <-s.idle:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Draining reports whether Drain was called.
func (s *Server) Draining() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.draining
}

// begin counts a request. It returns false if the server is draining.
func (s *Server) begin() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.draining {
		s.active++
	}
	return !s.draining
}

func (s *Server) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.active--; s.draining && s.active == 0 {
		close(s.idle)
	}
}

// streaming registers the function that stops reading a stream, until forget is called.
func (s *Server) streaming(c *call, interrupt func()) (forget func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.streams[c] = interrupt
	if s.draining {
		interrupt()
	}
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.streams, c)
	}
}
