package collecting

import (
	"context"
	"log/slog"
	"os"

	"github.com/merit-rl/merit/core/trace"
	"github.com/merit-rl/merit/core/trace/redact"
	"github.com/merit-rl/merit/core/trace/store"
	"github.com/merit-rl/merit/sdk/merit/traces"
)

// Options are what a configuration file does not say.
type Options struct {
	Logger *slog.Logger            // nil is nobody
	Getenv func(key string) string // nil is os.Getenv
}

// Sink is a store with secrets blanked before it. It implements trace.Sink.
type Sink struct {
	log      *slog.Logger
	store    store.Store
	redactor *redact.Redactor
	next     trace.Sink // redactor, then store
	keeper   *keeper    // nil without a limit
}

// Open opens the store and what stands before and behind it. Listen, GRPC and
// KeyFile of the configuration are not used. The error lists every problem.
func Open(ctx context.Context, c *Config, o Options) (*Sink, error) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Getenv == nil {
		o.Getenv = os.Getenv
	}
	r, err := redact.New(c.Redact)
	if err != nil {
		return nil, err
	}
	s := &Sink{log: o.Logger, redactor: r}
	if s.store, err = traces.Open(ctx, c.Store); err != nil {
		return nil, err
	}
	s.next = r.Sink(s.store)
	if keep := c.Retention.keep(); keep.Age > 0 || keep.Bytes > 0 {
		s.keeper = startKeeper(s.store, keep, c.Retention.Every, o.Logger)
	}
	return s, nil
}

// Put implements trace.Sink: when it returns nil the store has everything, with
// secrets blanked.
func (s *Sink) Put(ctx context.Context, spans []trace.Span, about []trace.About) error {
	if err := s.next.Put(ctx, spans, about); err != nil {
		s.log.Error("spans could not be kept", "spans", len(spans), "error", err)
		return err
	}
	return nil
}

// Store is where the traces are.
func (s *Sink) Store() store.Store { return s.store }

// Summary is what a sink has done since it was opened.
type Summary struct {
	Redacted map[string]uint64 `json:"redacted"` // secrets, by rule
}

// Summary returns what was done so far.
func (s *Sink) Summary() Summary {
	return Summary{Redacted: s.redactor.Found()}
}

// Close closes the store. It may be called more than once.
func (s *Sink) Close() error {
	if s.keeper != nil {
		s.keeper.close()
	}
	return s.store.Close()
}

// Secrets is how many were blanked.
func (s Summary) Secrets() (n uint64) {
	for _, found := range s.Redacted {
		n += found
	}
	return n
}
