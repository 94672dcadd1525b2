package collect

import (
	"context"
	"net/http"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/httpd"
	service "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/grpc"
	_ "google.golang.org/grpc/encoding/gzip" // exporters compress
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/tap"
)

// Server returns a gRPC server for OTLP's TraceService. The caller serves and stops
// it.
func (c *Collector) Server(options ...grpc.ServerOption) *grpc.Server {
	most := int(c.options.MaxBody)
	s := grpc.NewServer(append([]grpc.ServerOption{grpc.MaxRecvMsgSize(most), grpc.InTapHandle(c.tap)}, options...)...)
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
		return nil, status.Error(codeOf(statusOf(err)), said(fault.Leaves(err)))
	}
	return response, nil
}

// mostStreams is the maximum number of concurrent requests; exporters retry when
// they exceed it.
const mostStreams = 32

// tap checks authorization and load before the body of a request is read.
func (c *Collector) tap(ctx context.Context, info *tap.Info) (context.Context, error) {
	if !c.who.Right(httpd.Bearer(http.Header{"Authorization": info.Header.Get("authorization")})) {
		return nil, status.Error(codeOf(401), "the key is wrong or missing: send authorization: Bearer KEY")
	}
	if c.streams.Add(1) > mostStreams {
		c.streams.Add(-1)
		return nil, status.Error(codeOf(503), "too many concurrent requests: retry")
	}
	context.AfterFunc(ctx, func() { c.streams.Add(-1) })
	return ctx, nil
}
