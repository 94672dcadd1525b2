package trace

import (
	"context"
	"log/slog"
	"os"
	"time"

	"github.com/merit-rl/merit/internal/traces/trace"
)

// Options configure a tracer and where it sends spans.
type Options struct {
	Enabled bool // if false, New returns nil, which records nothing

	Sink Sink   // receives the spans; nil = they are sent to URL
	URL  string // the URL of merit traces collect; empty = $MERIT_COLLECT, else http://127.0.0.1:4318
	Key  string // the bearer token, if the collector requires one

	Agent string       // the agent of spans whose context names none
	Task  string       // the task of traces that name none
	Log   *slog.Logger // nil = no log
	Queue int          // how many spans can wait to be sent; 0 = 10,000; more are lost and counted
}

// Tracer makes spans and sends them. It is safe for concurrent use. A nil
// Tracer is off: all its methods may be called and do nothing.
type Tracer struct {
	options Options
	*sending
}

// New starts a tracer, or returns nil if recording is off. It returns an error
// if the options are invalid.
func New(o Options) (*Tracer, error) {
	if !o.Enabled {
		return nil, nil
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.URL == "" {
		o.URL = os.Getenv("MERIT_COLLECT")
	}
	if o.Sink == nil {
		sink, err := newSender(o.URL, o.Key)
		if err != nil {
			return nil, err
		}
		o.Sink = sink
	}
	if o.Queue <= 0 {
		o.Queue = 10_000
	}
	return &Tracer{options: o, sending: newSending(o.Sink, o.Queue, o.Log)}, nil
}

// Enabled reports whether t records anything.
func (t *Tracer) Enabled() bool { return t != nil }

// place is the position of a context in a trace.
type place struct{ trace, span, agent string }

type placeKey struct{}

func placeOf(ctx context.Context) place {
	p, _ := ctx.Value(placeKey{}).(place)
	return p
}

// Current returns the trace and the span of a context. Both are empty outside
// of a trace. Send them in the headers X-Merit-Trace and X-Merit-Parent to
// carry them through merit traces proxy.
func Current(ctx context.Context) (traceID, spanID string) {
	p := placeOf(ctx)
	return p.trace, p.span
}

// Trace begins a trace. Spans that start in the returned context belong to it.
// All fields of a may be empty; End sets the status.
func (t *Tracer) Trace(ctx context.Context, a About) (context.Context, *Trace) {
	if t == nil {
		return ctx, nil
	}
	if a.Trace == "" {
		a.Trace = newID(16)
	}
	if a.Task == "" {
		a.Task = t.options.Task
	}
	if a.Agent == "" {
		a.Agent = t.agent(placeOf(ctx))
	}
	return context.WithValue(ctx, placeKey{}, place{trace: a.Trace, agent: a.Agent}), &Trace{t, a}
}

// Trace is a trace that has begun. A nil Trace is not recorded.
type Trace struct {
	tracer *Tracer
	about  About
}

// ID returns the trace's id, or "" if the trace is not recorded.
func (x *Trace) ID() string {
	if x == nil {
		return ""
	}
	return x.about.Trace
}

// End ends the trace: successfully if err is nil, else with an error.
func (x *Trace) End(err error) {
	if x == nil {
		return
	}
	x.about.Status = trace.StatusOK
	if err != nil {
		x.about.Status = trace.StatusError
	}
	x.tracer.sendAbout(x.about)
}

func (t *Tracer) agent(p place) string {
	if p.agent != "" {
		return p.agent
	}
	return t.options.Agent
}

// Span is an operation in progress. Fill in its details (Prompt, Tool, Text,
// Attributes …) before End. A nil Span is not recorded.
type Span struct {
	trace.Span
	tracer *Tracer
}

// Start begins a span inside the span of the context, and returns the context
// for what happens within it. Outside of a trace, it also begins a trace.
func (t *Tracer) Start(ctx context.Context, kind trace.Kind, name string) (context.Context, *Span) {
	if t == nil {
		return ctx, nil
	}
	p := placeOf(ctx)
	if p.trace == "" {
		p.trace = newID(16)
		if t.options.Task != "" {
			t.sendAbout(About{Trace: p.trace, Task: t.options.Task})
		}
	}
	s := &Span{tracer: t, Span: trace.Span{
		Trace: p.trace, ID: newID(8), Parent: p.span, Agent: t.agent(p), Kind: kind, Name: name, Start: time.Now().UTC(), Status: trace.StatusOK,
	}}
	p.span = s.ID
	return context.WithValue(ctx, placeKey{}, p), s
}

// End ends the span, successfully if err is nil, and sends it.
func (s *Span) End(err error) {
	if s == nil {
		return
	}
	s.Span.End = time.Now().UTC()
	if s.Span.End.Before(s.Start) { // the clock was set back
		s.Span.End = s.Start
	}
	if err != nil {
		s.Status, s.Error = trace.StatusError, err.Error()
	}
	s.fit()
	s.tracer.send(s.Span)
}
