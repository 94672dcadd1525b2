package collect

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	service "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/traces/trace"
)

// Batch is what a request came to.
type Batch struct {
	Spans []trace.Span
	About []trace.About
	// Silent is how many spans said nothing that a trace could hold: database
	// queries, requests, and whatever else an agent's process reports.
	Silent int
	// Refused are the spans that cannot be kept, each with what is wrong with it.
	Refused []error

	links []link // of all of them
}

// Names of attributes by which somebody who instruments may say what Merit
// cannot know: of a span, or of the resource for all of them.
const (
	AttributeAgent = "merit.agent" // who acts
	AttributeTask  = "merit.task"  // the name of what is to be done
	AttributeGroup = "merit.group" // traces of one group had one start
	AttributeTruth = "merit.ground_truth"
)

// Read turns a request into spans: a function of nothing else. Spans of it that
// cannot be kept are refused one by one.
func Read(request *service.ExportTraceServiceRequest) (b Batch) {
	for _, rs := range request.GetResourceSpans() {
		resource := attributesOf(rs.GetResource().GetAttributes())
		for _, ss := range rs.GetScopeSpans() {
			for _, s := range ss.GetSpans() {
				b.read(s, resource, ss.GetScope().GetName())
			}
		}
	}
	return b
}

// source is a span as it came.
type source struct {
	span     *otlp.Span
	at       *attributes
	resource *attributes
	bare     trace.Span   // what every kind has
	more     []trace.Span // beside the span itself: what was thought, what was worth something
}

func (b *Batch) read(s *otlp.Span, resource *attributes, scope string) {
	src := &source{span: s, at: attributesOf(s.GetAttributes()), resource: resource}
	src.bare = trace.Span{
		Trace: hex.EncodeToString(s.GetTraceId()), ID: hex.EncodeToString(s.GetSpanId()), Parent: hex.EncodeToString(s.GetParentSpanId()),
		Name: s.GetName(), Start: moment(s.GetStartTimeUnixNano()), End: moment(s.GetEndTimeUnixNano()), Status: trace.StatusOK,
	}
	if strings.Trim(src.bare.Parent, "0") == "" {
		src.bare.Parent = ""
	}
	src.ended()
	src.bare.Agent = cmp.Or(src.at.text(AttributeAgent, "gen_ai.agent.name", "agent.name"), text(resource.all[AttributeAgent]))
	if name, ok := strings.CutSuffix(s.GetName(), ".run"); ok && src.bare.Agent == "" && text(src.at.all["openinference.span.kind"]) == "AGENT" {
		src.bare.Agent = name // smolagents' is named there only
	}
	src.bare.Agent = cut(src.bare.Agent)
	about := src.about()
	spans := src.spans()
	for i := range spans {
		spans[i].Name = cut(spans[i].Name)
	}
	if len(spans) == 0 {
		b.Silent++
	} else if scope != "" && spans[0].Attributes["otel.scope"] == nil {
		spans[0].Attributes = with(spans[0].Attributes, "otel.scope", scope)
	}
	if err := errors.Join(ids(s), check(spans, about)); err != nil {
		b.Refused = append(b.Refused, err)
		return
	}
	b.links = append(b.links, link{src.bare.Trace, src.bare.ID, src.bare.Parent, src.bare.Agent})
	b.Spans = append(b.Spans, spans...)
	if about != nil && (len(spans) > 0 || about.Task != "") {
		b.About = append(b.About, *about)
	}
}

// ids checks the ids of a span: OTLP has 16 bytes for a trace and 8 for a span, not
// all of them zero. A span of the first level has no parent, or one of zeros.
func ids(s *otlp.Span) error {
	var wrong []error
	for _, id := range []struct {
		name  string
		bytes []byte
		size  int
		root  bool // may be missing
	}{{"traceId", s.GetTraceId(), 16, false}, {"spanId", s.GetSpanId(), 8, false}, {"parentSpanId", s.GetParentSpanId(), 8, true}} {
		none := len(bytes.Trim(id.bytes, "\x00")) == 0
		if none && id.root && (len(id.bytes) == 0 || len(id.bytes) == id.size) || !none && len(id.bytes) == id.size {
			continue
		}
		wrong = append(wrong, &fault.Error{
			Boundary: fault.Data, Kind: fault.Invalid, Where: id.name, What: fmt.Sprintf("is not an id of %d bytes, at least one of which is not zero", id.size),
			Hint: fmt.Sprintf("in JSON, send %d hexadecimal digits", 2*id.size),
		})
	}
	return errors.Join(wrong...)
}

func check(spans []trace.Span, about *trace.About) error {
	var wrong []error
	for i := range spans {
		wrong = append(wrong, spans[i].Check())
	}
	if about != nil {
		wrong = append(wrong, about.Check())
	}
	return errors.Join(wrong...)
}

// ended notes how the span ended: an exception says more than a status.
func (src *source) ended() {
	if src.span.GetStatus().GetCode() != otlp.Status_STATUS_CODE_ERROR {
		return
	}
	src.bare.Status, src.bare.Error = trace.StatusError, src.span.GetStatus().GetMessage()
	for _, event := range src.span.GetEvents() {
		if event.GetName() != "exception" || src.bare.Error != "" {
			continue
		}
		at := attributesOf(event.GetAttributes())
		src.bare.Error = strings.TrimPrefix(fmt.Sprintf("%s: %s", at.text("exception.type"), at.text("exception.message")), ": ")
	}
	src.bare.Error = cmp.Or(src.bare.Error, src.at.text("error.type"))
}

// about is what the span says of its trace, or nil: the first span of all says
// how the trace ended.
func (src *source) about() *trace.About {
	a := trace.About{Trace: src.bare.Trace, Task: cut(cmp.Or(src.at.text(AttributeTask), text(src.resource.all[AttributeTask])))}
	if src.bare.Parent == "" {
		a.Status, a.Agent = src.bare.Status, src.bare.Agent
		if name := text(src.resource.all["service.name"]); name != "" && !strings.HasPrefix(name, "unknown_service") {
			a.Metadata = with(a.Metadata, "service", name)
		}
	}
	for name, keys := range map[string][]string{
		"session": {"gen_ai.conversation.id", "session.id"}, "user": {"user.id"}, trace.MetaGroup: {AttributeGroup},
	} {
		if value := src.at.text(keys...); value != "" {
			a.Metadata = with(a.Metadata, name, value)
		}
	}
	if truth := src.at.take(AttributeTruth); truth != nil {
		if a.Metadata == nil {
			a.Metadata = with(nil, trace.MetaGroundTruth, "")
		}
		a.Metadata[trace.MetaGroundTruth] = raw(truth)
	}
	if a.Task == "" && a.Status == "" && a.Metadata == nil {
		return nil
	}
	return &a
}

// spans are what the span is to a trace: none if it says nothing.
func (src *source) spans() []trace.Span {
	out := src.bare
	switch {
	case src.at.has("openinference.span.kind"):
		src.openInference(&out)
	case src.genAI(&out):
	default:
		src.content(&out)
	}
	src.evaluations()
	if out.Kind == "" {
		return src.more
	}
	out.Attributes = src.at.rest()
	return append([]trace.Span{out}, src.more...)
}

// content makes a span that is neither a call of a model nor of a tool a piece
// of work, if it says what it was given or what it came to.
func (src *source) content(out *trace.Span) {
	if src.at.has("output.value") || src.at.has("traceloop.entity.output") || src.at.has("gen_ai.output.messages") {
		out.Text = src.at.text("output.value", "traceloop.entity.output", "gen_ai.output.messages")
	} else {
		out.Text = src.at.text("input.value", "traceloop.entity.input", "gen_ai.input.messages")
	}
	if out.Text != "" || out.Status == trace.StatusError && src.at.has("openinference.span.kind") {
		out.Kind = trace.KindContent
	}
}

// beside is a span of what the source had beside its own matter.
func (src *source) beside(kind trace.Kind, suffix, name string) trace.Span {
	s := src.bare
	s.Kind, s.Name, s.Parent, s.ID = kind, name, src.bare.ID, src.bare.ID+"."+suffix
	s.Status, s.Error = trace.StatusOK, ""
	return s
}

// think adds what was thought and not said.
func (src *source) think(c *conversation) {
	if len(c.reasoning) > 0 {
		s := src.beside(trace.KindReasoning, "reasoning", "reasoning")
		s.Text = strings.Join(c.reasoning, "\n")
		src.more = append(src.more, s)
	}
}

// cut is as much of a name as a span may have. Instrumentations give tasks and
// spans whole sentences, which are no reason to lose them.
func cut(name string) string {
	return trace.Cut(name, trace.MaxName)
}

// moment is a time of OTLP; the zero time for none, or for one that no calendar
// of 64 bits has.
func moment(nanoseconds uint64) time.Time {
	if nanoseconds == 0 || nanoseconds > math.MaxInt64 {
		return time.Time{}
	}
	return time.Unix(0, int64(nanoseconds)).UTC()
}
