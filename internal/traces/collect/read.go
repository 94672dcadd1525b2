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

// Batch is the result of reading a request.
type Batch struct {
	Spans []trace.Span
	About []trace.About
	// Silent is the number of spans without data that a trace could hold, such as
	// database queries and HTTP requests.
	Silent int
	// Refused has an error for each span that cannot be stored.
	Refused []error

	links []link // of all spans
}

// Attributes, of a span or of the resource for all of its spans, with which users
// provide what Merit cannot infer.
const (
	AttributeAgent = "merit.agent" // the acting agent
	AttributeTask  = "merit.task"  // the name of the task
	AttributeGroup = "merit.group" // traces of one group start from the same state
	AttributeTruth = "merit.ground_truth"
)

// Read converts a request to spans. The result depends only on the request. Read
// refuses invalid spans one by one.
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

// source is a received span.
type source struct {
	span     *otlp.Span
	at       *attributes
	resource *attributes
	bare     trace.Span   // the fields that every kind has
	more     []trace.Span // spans in addition to this one: reasoning and rewards
}

func (b *Batch) read(s *otlp.Span, resource *attributes, scope string) {
	src := &source{span: s, at: attributesOf(s.GetAttributes()), resource: resource}
	src.at.rename()
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
		src.bare.Agent = name // smolagents gives the name only there
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
	if about != nil && (len(spans) > 0 || about.Task != "" || about.Metadata["session"] != nil) {
		b.About = append(b.About, *about)
	}
}

// ids checks the ids of a span: OTLP has 16 bytes for a trace and 8 for a span, not
// all of them zero. A root span has no parent, or one of zeros.
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
			Boundary: fault.Data, Kind: fault.Invalid, Where: id.name, What: fmt.Sprintf("is not an id of %d bytes with at least one nonzero byte", id.size),
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

// ended records how the span ended: an exception is more specific than a status.
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

// about returns what the span tells about its trace, or nil. The root span tells how
// the trace ended.
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

// spans returns the trace spans for the source; none if it has no agent data.
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

// content makes a content span of a span that is neither a model call nor a tool run,
// if it has an input or an output.
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

// beside returns a new span derived from the source.
func (src *source) beside(kind trace.Kind, suffix, name string) trace.Span {
	s := src.bare
	s.Kind, s.Name, s.Parent, s.ID = kind, name, src.bare.ID, src.bare.ID+"."+suffix
	s.Status, s.Error = trace.StatusOK, ""
	return s
}

// think adds a span for the reasoning.
func (src *source) think(c *conversation) {
	if len(c.reasoning) > 0 {
		s := src.beside(trace.KindReasoning, "reasoning", "reasoning")
		s.Text = strings.Join(c.reasoning, "\n")
		src.more = append(src.more, s)
	}
}

// cut shortens a name to the limit of a span. Instrumentations use whole sentences as
// names of tasks and spans.
func cut(name string) string {
	return trace.Cut(name, trace.MaxName)
}

// moment converts a time of OTLP. It returns the zero time for none, or for a time
// that does not fit into 64 bits.
func moment(nanoseconds uint64) time.Time {
	if nanoseconds == 0 || nanoseconds > math.MaxInt64 {
		return time.Time{}
	}
	return time.Unix(0, int64(nanoseconds)).UTC()
}
