package plugin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/hashicorp/go-hclog"
	goplugin "github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"

	pb "github.com/merit-rl/merit/sdk/plugin/proto"
	"github.com/merit-rl/merit/sdk/plugin/wire"
)

// Exit statuses of a plug-in, besides those of the Go runtime.
const (
	exitMisuse = 2 // started by hand, or a Definition that cannot work
	exitOrphan = 3 // the host is gone
)

// Serve offers the environment to the host that started this process, and
// returns when the host is done. It is all that a plug-in's main does. What the
// process prints becomes part of Merit's logs.
func Serve[Options any](d Definition[Options]) {
	options, err := json.Marshal(d.Defaults)
	if err := errors.Join(d.check(), err); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(exitMisuse)
	}
	if os.Getenv(wire.CookieKey) != wire.CookieValue {
		fmt.Fprintf(os.Stderr, "%s %s is a plug-in of Merit: %s\nIt is started by merit, not by hand.\n"+
			"Its options, with their defaults: %s\n", d.Name, d.Version, d.Summary, options)
		os.Exit(exitMisuse)
	}
	go leaveWithParent(os.Getppid())
	s := &server{
		description: wire.Description{
			Protocol: wire.Protocol, Name: d.Name, Version: d.Version, Summary: d.Summary, Options: options,
		},
		open:   d.Open,
		stderr: os.Stderr,
	}
	goplugin.Serve(&goplugin.ServeConfig{
		HandshakeConfig: goplugin.HandshakeConfig{
			ProtocolVersion: wire.Protocol, MagicCookieKey: wire.CookieKey, MagicCookieValue: wire.CookieValue,
		},
		Plugins: goplugin.PluginSet{wire.Service: &service{server: s}},
		GRPCServer: func(options []grpc.ServerOption) *grpc.Server {
			return grpc.NewServer(append(options, grpc.MaxRecvMsgSize(wire.MaxMessage), grpc.MaxSendMsgSize(wire.MaxMessage))...)
		},
		Logger: hclog.New(&hclog.LoggerOptions{Level: hclog.Warn, Output: os.Stderr}),
	})
	if err := s.close(); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}

// leaveWithParent ends the process when its parent has changed, which is how
// an orphan looks where the kernel does not kill it with the host.
func leaveWithParent(parent int) {
	for range time.Tick(500 * time.Millisecond) {
		if os.Getppid() != parent {
			os.Exit(exitOrphan)
		}
	}
}

// service registers the server with go-plugin.
type service struct {
	goplugin.NetRPCUnsupportedPlugin
	server *server
}

var _ goplugin.GRPCPlugin = (*service)(nil)

// GRPCServer implements goplugin.GRPCPlugin.
func (s *service) GRPCServer(_ *goplugin.GRPCBroker, g *grpc.Server) error {
	pb.RegisterEnvironmentServer(g, s.server)
	return nil
}

// GRPCClient implements goplugin.GRPCPlugin; hosts have their own.
func (s *service) GRPCClient(context.Context, *goplugin.GRPCBroker, *grpc.ClientConn) (any, error) {
	return nil, errors.New("a plug-in does not dial itself")
}
