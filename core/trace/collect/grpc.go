package collect

import (
	"context"

	service "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/grpc"
	_ "google.golang.org/grpc/encoding/gzip" // exporters compress
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// Server returns a gRPC server that answers OTLP's TraceService. Whoever calls
// it listens and stops it.
func (c *Collector) Server(options ...grpc.ServerOption) *grpc.Server {
	most := int(c.options.MaxBody)
	s := grpc.NewServer(append([]grpc.ServerOption{grpc.MaxRecvMsgSize(most), grpc.MaxConcurrentStreams(64), grpc.UnaryInterceptor(c.guard)}, options...)...)
	service.RegisterTraceServiceServer(s, traces{collector: c})
	return s
}

type traces struct {
	service.UnimplementedTraceServiceServer
	collector *Collector
}

// Export implements OTLP's TraceService.
func (t traces) Export(ctx context.Context, request *service.ExportTraceServiceRequest) (*service.ExportTraceServiceResponse, error) {
	response, err := t.collector.take(ctx, request)
	if err != nil {
		return nil, status.Error(codeOf(statusOf(err)), said(flat(err)))
	}
	return response, nil
}

// guard lets in who may.
func (c *Collector) guard(ctx context.Context, request any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	given := ""
	if md, ok := metadata.FromIncomingContext(ctx); ok {
		if list := md.Get("authorization"); len(list) > 0 {
			given = list[0]
		}
	}
	if !c.allowed(given) {
		return nil, status.Error(codeOf(401), "the key is not the one of this collector: send authorization: Bearer KEY")
	}
	return next(ctx, request)
}
