package proto

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// EnvironmentServer serves the calls of environment.proto, which documents
// them. A server without the optional calls embeds
// UnimplementedEnvironmentServer.
type EnvironmentServer interface {
	Describe(context.Context, *DescribeRequest) (*Description, error)
	Configure(context.Context, *ConfigureRequest) (*ConfigureReply, error)
	Run(grpc.BidiStreamingServer[Batch, BatchReply]) error
	Render(context.Context, *RenderRequest) (*RenderReply, error)
	Where(context.Context, *WhereRequest) (*WhereReply, error)
	Snapshot(context.Context, *SnapshotRequest) (*SnapshotReply, error)
	Restore(context.Context, *RestoreRequest) (*RestoreReply, error)
	Encode(context.Context, *EncodeRequest) (*EncodeReply, error)
}

// PolicyServer serves the calls of policy.proto, which documents them.
type PolicyServer interface {
	Describe(context.Context, *DescribeRequest) (*Description, error)
	Configure(context.Context, *PolicyRequest) (*PolicyReply, error)
	Act(grpc.BidiStreamingServer[ActRequest, ActReply]) error
	Learn(grpc.ClientStreamingServer[LearnRequest, LearnReply]) error
	Publish(context.Context, *PublishRequest) (*PublishReply, error)
	Save(context.Context, *SaveRequest) (*SaveReply, error)
	Load(context.Context, *LoadRequest) (*LoadReply, error)
}

const (
	environment = "merit.plugin.v1.Environment"
	policy      = "merit.plugin.v1.Policy"
)

var environmentService = grpc.ServiceDesc{
	ServiceName: environment,
	HandlerType: (*EnvironmentServer)(nil),
	Methods: []grpc.MethodDesc{
		unary(environment, "Describe", EnvironmentServer.Describe),
		unary(environment, "Configure", EnvironmentServer.Configure),
		unary(environment, "Render", EnvironmentServer.Render),
		unary(environment, "Where", EnvironmentServer.Where),
		unary(environment, "Snapshot", EnvironmentServer.Snapshot),
		unary(environment, "Restore", EnvironmentServer.Restore),
		unary(environment, "Encode", EnvironmentServer.Encode),
	},
	Streams:  []grpc.StreamDesc{both("Run", EnvironmentServer.Run)},
	Metadata: "merit/plugin/v1/environment.proto",
}

var policyService = grpc.ServiceDesc{
	ServiceName: policy,
	HandlerType: (*PolicyServer)(nil),
	Methods: []grpc.MethodDesc{
		unary(policy, "Describe", PolicyServer.Describe),
		unary(policy, "Configure", PolicyServer.Configure),
		unary(policy, "Publish", PolicyServer.Publish),
		unary(policy, "Save", PolicyServer.Save),
		unary(policy, "Load", PolicyServer.Load),
	},
	Streams: []grpc.StreamDesc{
		both("Act", PolicyServer.Act),
		{StreamName: "Learn", ClientStreams: true, Handler: func(server any, s grpc.ServerStream) error {
			return server.(PolicyServer).Learn(&grpc.GenericServerStream[LearnRequest, LearnReply]{ServerStream: s})
		}},
	},
	Metadata: "merit/plugin/v1/policy.proto",
}

// unary returns the description of a call with one request and one reply.
func unary[S, In, Out any](service, name string, method func(S, context.Context, *In) (*Out, error)) grpc.MethodDesc {
	return grpc.MethodDesc{MethodName: name, Handler: func(server any, ctx context.Context, decode func(any) error, through grpc.UnaryServerInterceptor) (any, error) {
		in := new(In)
		if err := decode(in); err != nil {
			return nil, err
		}
		handle := func(ctx context.Context, in any) (any, error) { return method(server.(S), ctx, in.(*In)) }
		if through == nil {
			return handle(ctx, in)
		}
		return through(ctx, in, &grpc.UnaryServerInfo{Server: server, FullMethod: "/" + service + "/" + name}, handle)
	}}
}

// both returns the description of a call with a stream in each direction.
func both[S, In, Out any](name string, method func(S, grpc.BidiStreamingServer[In, Out]) error) grpc.StreamDesc {
	return grpc.StreamDesc{StreamName: name, ServerStreams: true, ClientStreams: true, Handler: func(server any, s grpc.ServerStream) error {
		return method(server.(S), &grpc.GenericServerStream[In, Out]{ServerStream: s})
	}}
}

// RegisterEnvironmentServer serves an environment.
func RegisterEnvironmentServer(r grpc.ServiceRegistrar, s EnvironmentServer) {
	r.RegisterService(&environmentService, s)
}

// RegisterPolicyServer serves a policy.
func RegisterPolicyServer(r grpc.ServiceRegistrar, s PolicyServer) {
	r.RegisterService(&policyService, s)
}

// none answers a call that a plug-in does not implement.
func none[Out any](method string) (*Out, error) {
	return nil, status.Errorf(codes.Unimplemented, "method %s not implemented", method)
}

// UnimplementedEnvironmentServer answers the optional calls with Unimplemented.
type UnimplementedEnvironmentServer struct{}

// Render implements EnvironmentServer.
func (UnimplementedEnvironmentServer) Render(context.Context, *RenderRequest) (*RenderReply, error) {
	return none[RenderReply]("Render")
}

// Where implements EnvironmentServer.
func (UnimplementedEnvironmentServer) Where(context.Context, *WhereRequest) (*WhereReply, error) {
	return none[WhereReply]("Where")
}

// Snapshot implements EnvironmentServer.
func (UnimplementedEnvironmentServer) Snapshot(context.Context, *SnapshotRequest) (*SnapshotReply, error) {
	return none[SnapshotReply]("Snapshot")
}

// Restore implements EnvironmentServer.
func (UnimplementedEnvironmentServer) Restore(context.Context, *RestoreRequest) (*RestoreReply, error) {
	return none[RestoreReply]("Restore")
}

// Encode implements EnvironmentServer.
func (UnimplementedEnvironmentServer) Encode(context.Context, *EncodeRequest) (*EncodeReply, error) {
	return none[EncodeReply]("Encode")
}

// client calls a service behind a connection.
type client struct {
	conn grpc.ClientConnInterface
}

func call[Out any](ctx context.Context, c client, service, name string, in any) (*Out, error) {
	out := new(Out)
	if err := c.conn.Invoke(ctx, "/"+service+"/"+name, in, out, grpc.StaticMethod()); err != nil {
		return nil, err
	}
	return out, nil
}

func open[In, Out any](ctx context.Context, c client, service *grpc.ServiceDesc, stream int) (*grpc.GenericClientStream[In, Out], error) {
	d := &service.Streams[stream]
	s, err := c.conn.NewStream(ctx, d, "/"+service.ServiceName+"/"+d.StreamName, grpc.StaticMethod())
	return &grpc.GenericClientStream[In, Out]{ClientStream: s}, err
}

// EnvironmentClient calls an environment.
type EnvironmentClient struct{ client }

// NewEnvironmentClient returns the environment behind a connection.
func NewEnvironmentClient(c grpc.ClientConnInterface) EnvironmentClient {
	return EnvironmentClient{client{c}}
}

// Describe returns the description of the plug-in.
func (c EnvironmentClient) Describe(ctx context.Context, in *DescribeRequest) (*Description, error) {
	return call[Description](ctx, c.client, environment, "Describe", in)
}

// Configure builds the environment.
func (c EnvironmentClient) Configure(ctx context.Context, in *ConfigureRequest) (*ConfigureReply, error) {
	return call[ConfigureReply](ctx, c.client, environment, "Configure", in)
}

// Run opens the stream of batches.
func (c EnvironmentClient) Run(ctx context.Context) (grpc.BidiStreamingClient[Batch, BatchReply], error) {
	return open[Batch, BatchReply](ctx, c.client, &environmentService, 0)
}

// Render draws a slot.
func (c EnvironmentClient) Render(ctx context.Context, in *RenderRequest) (*RenderReply, error) {
	return call[RenderReply](ctx, c.client, environment, "Render", in)
}

// Where returns what the environment is working on.
func (c EnvironmentClient) Where(ctx context.Context, in *WhereRequest) (*WhereReply, error) {
	return call[WhereReply](ctx, c.client, environment, "Where", in)
}

// Snapshot returns the state of a slot.
func (c EnvironmentClient) Snapshot(ctx context.Context, in *SnapshotRequest) (*SnapshotReply, error) {
	return call[SnapshotReply](ctx, c.client, environment, "Snapshot", in)
}

// Restore restores a state.
func (c EnvironmentClient) Restore(ctx context.Context, in *RestoreRequest) (*RestoreReply, error) {
	return call[RestoreReply](ctx, c.client, environment, "Restore", in)
}

// Encode reads a recorded call.
func (c EnvironmentClient) Encode(ctx context.Context, in *EncodeRequest) (*EncodeReply, error) {
	return call[EncodeReply](ctx, c.client, environment, "Encode", in)
}

// PolicyClient calls a policy.
type PolicyClient struct{ client }

// NewPolicyClient returns the policy behind a connection.
func NewPolicyClient(c grpc.ClientConnInterface) PolicyClient { return PolicyClient{client{c}} }

// Describe returns the description of the plug-in.
func (c PolicyClient) Describe(ctx context.Context, in *DescribeRequest) (*Description, error) {
	return call[Description](ctx, c.client, policy, "Describe", in)
}

// Configure builds the policy.
func (c PolicyClient) Configure(ctx context.Context, in *PolicyRequest) (*PolicyReply, error) {
	return call[PolicyReply](ctx, c.client, policy, "Configure", in)
}

// Act opens the stream of requests.
func (c PolicyClient) Act(ctx context.Context) (grpc.BidiStreamingClient[ActRequest, ActReply], error) {
	return open[ActRequest, ActReply](ctx, c.client, &policyService, 0)
}

// Learn opens the stream of one update.
func (c PolicyClient) Learn(ctx context.Context) (grpc.ClientStreamingClient[LearnRequest, LearnReply], error) {
	return open[LearnRequest, LearnReply](ctx, c.client, &policyService, 1)
}

// Publish makes the policy act with the newest weights.
func (c PolicyClient) Publish(ctx context.Context, in *PublishRequest) (*PublishReply, error) {
	return call[PublishReply](ctx, c.client, policy, "Publish", in)
}

// Save returns the state of the policy.
func (c PolicyClient) Save(ctx context.Context, in *SaveRequest) (*SaveReply, error) {
	return call[SaveReply](ctx, c.client, policy, "Save", in)
}

// Load sets the state of the policy.
func (c PolicyClient) Load(ctx context.Context, in *LoadRequest) (*LoadReply, error) {
	return call[LoadReply](ctx, c.client, policy, "Load", in)
}
