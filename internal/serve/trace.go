package serve

import (
	"context"
	"net/http"
	"os"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/sdk/trace"
	api "go.opentelemetry.io/otel/trace"

	"github.com/merit-rl/merit/core/fault"
)

// Tracing returns a value for Options.Tracer if the environment names an endpoint
// (OTEL_EXPORTER_OTLP_ENDPOINT or OTEL_EXPORTER_OTLP_TRACES_ENDPOINT). Spans are sent to it
// over OTLP/HTTP, as OpenTelemetry's other variables configure. Without an endpoint, Tracing
// returns nil. Shutdown sends the remaining spans and is never nil.
//
// There is one span for each request, named by method and route, in the trace of the request's
// traceparent if it has one. It contains the spans load (a
// reward is opened) and evaluate (with the number of trajectories and their outcomes). Spans
// contain neither conversations nor keys.
func Tracing(ctx context.Context, version string) (provider api.TracerProvider, shutdown func(context.Context) error, err error) {
	nothing := func(context.Context) error { return nil }
	if os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT") == "" && os.Getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") == "" {
		return nil, nothing, nil
	}
	exporter, err := otlptracehttp.New(ctx)
	if err != nil {
		return nil, nothing, noTraces(err)
	}
	about, err := resource.New(ctx,
		resource.WithAttributes(attribute.String("service.name", "merit"), attribute.String("service.version", version)),
		resource.WithTelemetrySDK(), resource.WithFromEnv())
	if err != nil {
		return nil, nothing, noTraces(err)
	}
	p := trace.NewTracerProvider(trace.WithBatcher(exporter), trace.WithResource(about))
	return p, p.Shutdown, nil
}

// traced wraps the handler of a route in a span that belongs to the caller's trace if the request's
// traceparent names one. Its attributes are those of OpenTelemetry's HTTP conventions.
//
// The usual otelhttp would do this too, but it brings httpsnoop, whose code for every combination
// of ResponseWriter's optional interfaces is 1.6 MB of the binary.
func (s *Server) traced(r route, h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		ctx := propagation.TraceContext{}.Extract(req.Context(), propagation.HeaderCarrier(req.Header))
		ctx, span := s.tracer.Start(ctx, r.method+" "+r.path, api.WithSpanKind(api.SpanKindServer), api.WithAttributes(
			attribute.String("http.request.method", req.Method), attribute.String("http.route", r.path),
			attribute.String("url.path", req.URL.Path), attribute.String("client.address", req.RemoteAddr),
			attribute.String("user_agent.original", req.UserAgent()),
		))
		a := &answered{ResponseWriter: w}
		defer func() {
			span.SetAttributes(attribute.Int("http.response.status_code", a.code()), attribute.Int("http.response.body.size", a.bytes))
			if a.status >= http.StatusInternalServerError {
				span.SetStatus(codes.Error, "")
			}
			span.End()
		}()
		h.ServeHTTP(a, req.WithContext(ctx))
	})
}

func noTraces(err error) error {
	return &fault.Error{
		Boundary: fault.Config, Kind: fault.Invalid, Where: "OTEL_EXPORTER_OTLP_ENDPOINT", What: "traces cannot be exported", Err: err,
		Hint: "correct or unset OpenTelemetry's variables",
	}
}
