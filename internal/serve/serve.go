// Package serve is rewards and estimators behind HTTP: uploads, evaluations as
// objects, arrays and streams, advantages, and what operators look at. It knows
// tenants, the library of their rewards and core's pipeline, but no sandbox and
// no listener: internal/serve/serving puts these together.
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

// Options are what a Server is made of.
type Options struct {
	Registry  *tenant.Registry  // who may ask
	Scheduler *tenant.Scheduler // whose evaluation is next
	Library   *library.Library  // their rewards
	Limits    Limits
	// DefaultReward is the reference of the reward that the shapes of other tools
	// get where the path names none; empty if there is none.
	DefaultReward string
	// OnUnscored is what those shapes are answered for an evaluation without a
	// score, unless the request says. The zero value is an error.
	OnUnscored shape.OnUnscored
	// Operators are the tenants that see the metrics of all.
	Operators []string
	// OnlyHere answers requests to this machine's own names only. It is for servers
	// on the loopback that ask for no key: a page in a browser could reach one by
	// giving the address to a name of its own (DNS rebinding).
	OnlyHere bool
	Version  string               // of the server, for people
	Logger   *slog.Logger         // nil logs nothing
	Tracer   trace.TracerProvider // nil traces nothing; see Tracing
}

// Limits bound what is in memory and how long it stays. Zero has the meaning
// that stands beside each.
type Limits struct {
	Body         int64 `yaml:"body" jsonschema:"minimum=0" hint:"use a number above 0, or 0 for the default"`         // of a request that is no stream and no upload, in bytes; 0: 64 MiB
	Upload       int64 `yaml:"upload" jsonschema:"minimum=0" hint:"use a number above 0, or 0 for the default"`       // of a reward, packed and unpacked, in bytes; 0: 64 MiB
	Conversation int   `yaml:"conversation" jsonschema:"minimum=0" hint:"use a number above 0, or 0 for the default"` // of one trajectory as JSON, in bytes; 0: 8 MiB
	Batch        int   `yaml:"batch" jsonschema:"minimum=0" hint:"use a number above 0, or 0 for the default"`        // trajectories of a request that is no stream; 0: 65,536
	Group        int   `yaml:"group" jsonschema:"minimum=0" hint:"use a number above 0, or 0 for the default"`        // members of a group in a stream; 0: 1,024
	Rows         int   `yaml:"rows" jsonschema:"minimum=0" hint:"use a number above 0, or 0 for the default"`         // of a request for advantages; 0: 1,000,000
	Requests     int   `yaml:"requests" jsonschema:"minimum=0" hint:"use a number above 0, or 0 for the default"`     // of one tenant of several that are under way at one time; 0: 1,024
	// Memory bounds the bodies and the windows of streams of all requests
	// together, in bytes. 0: 1 GiB.
	Memory int64 `yaml:"memory" jsonschema:"minimum=0" hint:"use a number above 0, or 0 for the default"`
	// Idle is how long a client may send nothing of what it has begun to send, or
	// take nothing of what it asked for. 0: 5 minutes.
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

// window is the text of lines that a stream may have read and not answered.
func (l Limits) window() int64 { return max(16<<20, 2*int64(l.Conversation)) }

// Server answers requests. It is safe for concurrent use.
type Server struct {
	Options
	memory  *semaphore.Weighted
	metrics *metrics
	tracer  trace.Tracer
	who     httpd.Guard
	handler http.Handler

	mu       sync.Mutex
	draining bool
	active   int              // requests under way
	idle     chan struct{}    // closed when draining and none is under way
	streams  map[*call]func() // what ends the reading of each
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

// Handler answers every path of the server.
func (s *Server) Handler() http.Handler { return s.handler }

// Drain refuses new requests from now on, lets streams end behind the lines that
// they have read, and returns when every request has its answer, or with the
// error of ctx.
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

// begin counts a request, unless the server drains.
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

// streaming notes what ends the reading of a stream until forget is called.
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
