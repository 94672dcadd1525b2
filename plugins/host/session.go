package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"
	goplugin "github.com/hashicorp/go-plugin"
	"github.com/hashicorp/go-plugin/runner"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"

	"github.com/merit-rl/merit/core/env"
	"github.com/merit-rl/merit/core/fault"
	pb "github.com/merit-rl/merit/sdk/plugin/proto"
	"github.com/merit-rl/merit/sdk/plugin/wire"
)

const (
	describeDeadline = 5 * time.Second
	stopGrace        = 2 * time.Second // for a plug-in to end by itself
	longestTempDir   = 60              // a socket's path has at most 108 bytes
)

// session is one life of a plug-in: its process and the connection to it.
type session struct {
	name        string
	out         *output
	process     *process
	client      *goplugin.Client
	rpc         pb.EnvironmentClient
	description wire.Description

	killed atomic.Bool // the host ended it
	late   atomic.Bool // a deadline was why
	stop   sync.Once
}

// start launches the binary of cfg, shakes hands and asks who it is.
func start(ctx context.Context, cfg Config) (*session, error) {
	if err := checkBinary(cfg.Path); err != nil {
		return nil, err
	}
	if err := checkDigest(cfg); err != nil {
		return nil, err
	}
	dir, err := socketDir()
	if err != nil {
		return nil, err
	}
	// Once connected, nobody needs the socket's name: removed now, it is not
	// left behind even when this process is killed.
	defer os.RemoveAll(dir)
	s := &session{name: nameOf(cfg.Path), out: newOutput(cfg.Log, cfg.Limits.Output)}
	s.process = newProcess(exec.Command(cfg.Path, cfg.Args...), cfg.Limits, s.out)
	s.client = goplugin.NewClient(&goplugin.ClientConfig{
		HandshakeConfig: goplugin.HandshakeConfig{
			ProtocolVersion: wire.Protocol, MagicCookieKey: wire.CookieKey, MagicCookieValue: wire.CookieValue,
		},
		Plugins:          goplugin.PluginSet{wire.Service: &service{}},
		AllowedProtocols: []goplugin.Protocol{goplugin.ProtocolGRPC},
		RunnerFunc: func(_ hclog.Logger, spec *exec.Cmd, _ string) (runner.Runner, error) {
			s.process.cmd.Env = append(append(environ(cfg.Limits), spec.Env...), cfg.Env...)
			return s.process, nil
		},
		SkipHostEnv:      true,
		StartTimeout:     2 * cfg.StartTimeout, // the watchdog below is first
		SyncStdout:       s.out,
		SyncStderr:       s.out,
		Logger:           hclog.NewNullLogger(),
		UnixSocketConfig: &goplugin.UnixSocketConfig{TempDir: dir},
		// No keepalive: servers end connections that ping without work.
		GRPCDialOptions: []grpc.DialOption{
			grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(wire.MaxMessage), grpc.MaxCallSendMsgSize(wire.MaxMessage)),
			grpc.WithConnectParams(grpc.ConnectParams{Backoff: backoff.DefaultConfig, MinConnectTimeout: cfg.StartTimeout}),
		},
	})
	defer context.AfterFunc(ctx, s.kill)()
	watchdog := time.AfterFunc(cfg.StartTimeout, s.expire)
	err = s.connect()
	watchdog.Stop()
	if err != nil {
		s.kill()
		s.close()
		return nil, s.startFault(ctx, err, cfg.StartTimeout)
	}
	describe := func(ctx context.Context) error {
		m, err := s.rpc.Describe(ctx, &pb.DescribeRequest{Protocol: wire.Protocol})
		if err == nil {
			s.description, err = wire.DecodeDescription(m)
		}
		return err
	}
	if err := s.call(ctx, "at its start", min(describeDeadline, cfg.StartTimeout), describe); err != nil {
		return nil, err
	}
	return s, nil
}

func (s *session) connect() error {
	protocol, err := s.client.Client()
	if err != nil {
		return err
	}
	rpc, err := protocol.Dispense(wire.Service)
	if err != nil {
		return err
	}
	s.rpc = rpc.(pb.EnvironmentClient)
	return nil
}

// configure builds the environment in the plug-in.
func (s *session) configure(ctx context.Context, c wire.Configuration, limit time.Duration) (spec env.Spec, err error) {
	err = s.call(ctx, "while it was configured", limit, func(ctx context.Context) error {
		m, err := s.rpc.Configure(ctx, wire.EncodeConfiguration(c))
		if err == nil {
			spec, err = wire.DecodeSpec(m, c.Slots)
		}
		if m.GetFault() != nil {
			err = s.refusal(err)
		}
		return err
	})
	return spec, err
}

// call makes one unary call under a deadline. A session that fails it is
// ended, and its error says how.
func (s *session) call(ctx context.Context, doing string, limit time.Duration, rpc func(context.Context) error) error {
	deadline := time.Now().Add(limit)
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
		case <-s.process.exited:
		case <-time.After(pipeGrace):
		}
	}
	s.kill()
	s.close()
	if said {
		return s.named(err)
	}
	return s.faultOf(ctx, err, doing, limit)
}

func isJoined(err error) bool {
	var joined interface{ Unwrap() []error }
	return errors.As(err, &joined)
}

// kill ends the process group at once. It may be called from anywhere.
func (s *session) kill() {
	s.killed.Store(true)
	s.process.end()
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
		s.process.close()
	})
}

// environ is all that a plug-in inherits: no keys, no tokens.
func environ(l Limits) []string {
	env := []string{
		"PATH=" + os.Getenv("PATH"),
		"TMPDIR=" + os.TempDir(),
		"GOMAXPROCS=1", // measured: two Go processes on two cores waste a third of them on idle spinning
		"PYTHONUNBUFFERED=1",
	}
	if l.Memory > 0 {
		env = append(env, fmt.Sprintf("GOMEMLIMIT=%d", l.Memory/10*8))
	}
	return env
}

// socketDir makes the folder of the socket, mode 0700, with a short name.
func socketDir() (string, error) {
	base := os.TempDir()
	if len(base) > longestTempDir {
		base = string(filepath.Separator) + "tmp"
	}
	dir, err := os.MkdirTemp(base, "merit-")
	if err != nil {
		return "", &fault.Error{
			Boundary: fault.Storage, Kind: fault.Exhausted, Where: base, What: "cannot make a folder for a plug-in's socket",
			Hint: "make room there, or set TMPDIR", Err: err,
		}
	}
	return dir, nil
}

// service dispenses the client side.
type service struct {
	goplugin.NetRPCUnsupportedPlugin
}

// GRPCServer implements goplugin.GRPCPlugin; plug-ins have their own.
func (*service) GRPCServer(*goplugin.GRPCBroker, *grpc.Server) error {
	return errors.New("a host does not serve")
}

// GRPCClient implements goplugin.GRPCPlugin.
func (*service) GRPCClient(_ context.Context, _ *goplugin.GRPCBroker, conn *grpc.ClientConn) (any, error) {
	return pb.NewEnvironmentClient(conn), nil
}
