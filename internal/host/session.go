package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"
	goplugin "github.com/hashicorp/go-plugin"
	"github.com/hashicorp/go-plugin/runner"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/host/internal/process"
	"github.com/merit-rl/merit/internal/wire"
	pb "github.com/merit-rl/merit/internal/wire/proto"
)

const (
	describeDeadline = 5 * time.Second
	stopGrace        = 2 * time.Second // for a plug-in to end by itself
	forever          = 100 * 365 * 24 * time.Hour
)

// session is one life of a plug-in: its process and the connection to it.
type session struct {
	name        string
	out         *process.Output
	process     *process.Process
	client      *goplugin.Client
	conn        *grpc.ClientConn
	kind        string // Environment or Policy
	description wire.Description
	secrets     *strings.Replacer // of what the plug-in says

	killed atomic.Bool // the host ended it
	late   atomic.Bool // a deadline was why
	stop   sync.Once

	waiting atomic.Uint64          // the batch that has no answer yet; 0 = none
	place   atomic.Pointer[string] // where the plug-in was when its time was over
}

// start launches a plug-in, shakes hands and asks who it is.
func start(ctx context.Context, l *launch) (*session, error) {
	command, err := l.command()
	if err != nil {
		return nil, err
	}
	dir, err := socketDir()
	if err != nil {
		return nil, err
	}
	// Once connected, nobody needs the socket's name: removed now, it is not
	// left behind even when this process is killed.
	defer os.RemoveAll(dir)
	s := &session{name: nameOf(l.path), secrets: l.secrets}
	s.out = process.NewOutput(l.log, s.name, l.limits.Output, l.secrets)
	cmd := exec.Command(command.Path, slices.Concat(command.Args, l.args)...)
	cmd.Args[0] = cmp.Or(command.Name, command.Path)
	s.process = process.New(cmd, l.limits, s.out)
	s.client = goplugin.NewClient(&goplugin.ClientConfig{
		HandshakeConfig: goplugin.HandshakeConfig{
			ProtocolVersion: wire.Protocol, MagicCookieKey: wire.CookieKey, MagicCookieValue: wire.CookieValue,
		},
		Plugins:          goplugin.PluginSet{wire.Service: &service{}},
		AllowedProtocols: []goplugin.Protocol{goplugin.ProtocolGRPC},
		RunnerFunc: func(_ hclog.Logger, spec *exec.Cmd, _ string) (runner.Runner, error) {
			s.process.Cmd.Env = slices.Concat(environ(l.limits), spec.Env, command.Env, l.env)
			return s.process, nil
		},
		SkipHostEnv:      true,
		StartTimeout:     2 * l.timeout, // the watchdog below is first
		SyncStdout:       s.out,
		SyncStderr:       s.out,
		Logger:           hclog.NewNullLogger(),
		UnixSocketConfig: &goplugin.UnixSocketConfig{TempDir: dir},
		// No keepalive: servers end connections that ping without work.
		GRPCDialOptions: []grpc.DialOption{
			grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(wire.MaxMessage), grpc.MaxCallSendMsgSize(wire.MaxMessage)),
			grpc.WithConnectParams(grpc.ConnectParams{Backoff: backoff.DefaultConfig, MinConnectTimeout: l.timeout}),
		},
	})
	defer context.AfterFunc(ctx, s.kill)()
	watchdog := time.AfterFunc(l.timeout, s.expire)
	err = s.connect()
	watchdog.Stop()
	if err != nil {
		s.kill()
		s.close()
		return nil, s.startFault(ctx, err, l.timeout)
	}
	if err := s.call(ctx, "at its start", min(l.describe, l.timeout), s.describe); err != nil {
		return nil, err
	}
	return s, nil
}

// describe asks who the plug-in is. The service that answers is what kind it
// is of.
func (s *session) describe(ctx context.Context) error {
	s.kind = Environment
	request := &pb.DescribeRequest{Protocol: wire.Protocol}
	m, err := pb.NewEnvironmentClient(s.conn).Describe(ctx, request)
	if status.Code(err) == codes.Unimplemented {
		s.kind = Policy
		m, err = pb.NewPolicyClient(s.conn).Describe(ctx, request)
	}
	if status.Code(err) == codes.Unimplemented {
		return &fault.Error{
			Boundary: fault.Plugin, Kind: fault.Protocol, Where: s.name, What: "serves neither an environment nor a policy",
			Hint: "build it with this Merit's sdk/plugin",
		}
	}
	if err == nil {
		s.description, err = wire.DecodeDescription(m)
	}
	return err
}

// is ends a session with a plug-in that is of another kind.
func (s *session) is(kind string) error {
	if s.kind == kind {
		return nil
	}
	s.close()
	article := map[string]string{Environment: "an environment", Policy: "a policy"}
	return &fault.Error{
		Boundary: fault.Plugin, Kind: fault.Refused, Where: s.name,
		What: fmt.Sprintf("is the plug-in of %s, not of %s", article[s.kind], article[kind]),
		Hint: "name it under " + s.kind + " in the configuration, or another one here",
	}
}

func (s *session) connect() error {
	protocol, err := s.client.Client()
	if err != nil {
		return err
	}
	conn, err := protocol.Dispense(wire.Service)
	if err != nil {
		return err
	}
	s.conn = conn.(*grpc.ClientConn)
	return nil
}

// call makes one call under a deadline; 0 is none. A session that fails it is
// ended, and its error says how.
func (s *session) call(ctx context.Context, doing string, limit time.Duration, rpc func(context.Context) error) error {
	deadline := time.Now().Add(cmp.Or(limit, forever))
	limited, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	err := rpc(limited)
	if err == nil {
		return nil
	}
	// The clock and not limited.Err: the plug-in's side keeps the deadline too,
	// and on a busy machine its answer may come before our own timer.
	if !time.Now().Before(deadline) && ctx.Err() == nil {
		s.late.Store(true)
	}
	return s.finish(ctx, err, doing, limit)
}

// finish ends a session after err. What the plug-in or its decoder said stays
// as it is; what the transport said is explained.
func (s *session) finish(ctx context.Context, err error, doing string, limit time.Duration) error {
	said := fault.As(err) != nil || isJoined(err)
	if !said {
		// A connection ends a moment before its process can be waited for.
		select {
		case <-s.process.Exited:
		case <-time.After(process.PipeGrace):
		}
	}
	s.kill()
	s.close()
	if said {
		return named(s.name, err)
	}
	return s.faultOf(ctx, err, doing, limit)
}

func isJoined(err error) bool {
	var joined interface{ Unwrap() []error }
	return errors.As(err, &joined)
}

// kill ends the process group at once. It may be called from anywhere. A
// process that is gone already was killed by somebody else, if at all.
func (s *session) kill() {
	select {
	case <-s.process.Exited:
	default:
		s.killed.Store(true)
		s.process.End()
	}
}

// expire kills the process because a deadline has passed.
func (s *session) expire() {
	s.late.Store(true)
	s.kill()
}

// close lets the plug-in end by itself, kills it if it does not, and frees
// everything.
func (s *session) close() {
	s.stop.Do(func() {
		done := make(chan struct{})
		go func() {
			s.client.Kill() // has no deadline of its own
			close(done)
		}()
		select {
		case <-done:
		case <-time.After(stopGrace):
			s.kill()
			<-done
		}
		s.process.Close()
	})
}

// service dispenses the connection.
type service struct {
	goplugin.NetRPCUnsupportedPlugin
}

// GRPCServer implements goplugin.GRPCPlugin; plug-ins have their own.
func (*service) GRPCServer(*goplugin.GRPCBroker, *grpc.Server) error {
	return errors.New("a host does not serve")
}

// GRPCClient implements goplugin.GRPCPlugin.
func (*service) GRPCClient(_ context.Context, _ *goplugin.GRPCBroker, conn *grpc.ClientConn) (any, error) {
	return conn, nil
}
