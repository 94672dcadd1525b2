//go:build !wasip1

package plugin

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	goplugin "github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"

	"github.com/merit-rl/merit/internal/wire"
	pb "github.com/merit-rl/merit/internal/wire/proto"
)

// The exit codes of a plug-in, besides those of the Go runtime.
const (
	exitMisuse = 2 // started by hand, or with an invalid Definition
	exitOrphan = 3 // the host has exited
)

// Serve offers the environment to the host that started this process. It
// returns when the host is done. The main function of a plug-in only calls
// Serve. Merit adds the output of the process to its logs.
func Serve[Options any](d Definition[Options]) {
	s := &server{greeter: greet(d.Name, d.Version, d.Summary, d.Defaults, d.check()), open: d.Open}
	go s.tracker.Watch()
	serve(func(g *grpc.Server) { pb.RegisterEnvironmentServer(g, s) })
	bury(s.close())
}

// ServePolicy is Serve for a policy. Requests run concurrently, each in its own
// goroutine.
func ServePolicy[Options any](d PolicyDefinition[Options]) {
	s := &policyServer{greeter: greet(d.Name, d.Version, d.Summary, d.Defaults, d.check()), build: d.build}
	serve(func(g *grpc.Server) { pb.RegisterPolicyServer(g, s) })
	bury(s.close())
}

// greeter describes the plug-in to the host.
type greeter struct {
	description wire.Description
	stderr      *os.File // the stderr of the process, before go-plugin replaces it
	restore     sync.Once
}

// greet exits the process if it was started by hand or its definition is
// invalid.
func greet(name, version, summary string, defaults any, problem error) *greeter {
	options, err := optionsJSON(defaults)
	d := wire.Description{Protocol: wire.Protocol, Name: name, Version: version, Summary: summary, Options: options}
	if err := errors.Join(problem, err); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(exitMisuse)
	}
	if len(os.Args) == 2 && os.Args[1] == "--version" {
		fmt.Println(d.Name, d.Version, origin())
		os.Exit(0)
	}
	if os.Getenv(wire.CookieKey) != wire.CookieValue {
		fmt.Fprintf(os.Stderr, "%s %s is a plug-in of Merit: %s\nIt cannot be run by hand: merit starts it.\n"+
			"Its options, with their defaults: %s\n", d.Name, d.Version, d.Summary, d.Options)
		os.Exit(exitMisuse)
	}
	go leaveWithParent(os.Getppid())
	return &greeter{description: d, stderr: os.Stderr}
}

// origin returns the build information of the Go linker: the module, the Go
// version and the platform.
func origin() string {
	built := runtime.Version() + " " + runtime.GOOS + "/" + runtime.GOARCH
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Path != "" {
		return info.Main.Path + " " + info.Main.Version + " " + built
	}
	return built
}

// describe answers Describe. It runs before any of the author's code, and
// restores the real stderr for both outputs of that code. go-plugin would send
// them through the connection, where they delay messages and are lost when the
// process exits.
func (g *greeter) describe() *pb.Description {
	g.restore.Do(func() { os.Stdout, os.Stderr = g.stderr, g.stderr })
	return wire.EncodeDescription(g.description)
}

func serve(register func(*grpc.Server)) {
	goplugin.Serve(&goplugin.ServeConfig{
		HandshakeConfig: goplugin.HandshakeConfig{
			ProtocolVersion: wire.Protocol, MagicCookieKey: wire.CookieKey, MagicCookieValue: wire.CookieValue,
		},
		Plugins: goplugin.PluginSet{wire.Service: &service{register: register}},
		GRPCServer: func(options []grpc.ServerOption) *grpc.Server {
			return grpc.NewServer(append(options, grpc.MaxRecvMsgSize(wire.MaxMessage), grpc.MaxSendMsgSize(wire.MaxMessage))...)
		},
		Logger: hclog.New(&hclog.LoggerOptions{Level: hclog.Warn, Output: os.Stderr}),
	})
}

// bury prints the error of closing the author's code.
func bury(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}

// leaveWithParent exits the process when its parent process changes, because
// the host has exited then. It matters where the kernel does not kill the
// plug-in with the host.
func leaveWithParent(parent int) {
	for range time.Tick(500 * time.Millisecond) {
		if os.Getppid() != parent {
			os.Exit(exitOrphan)
		}
	}
}

// service registers a server, of an environment or of a policy, with go-plugin.
type service struct {
	goplugin.NetRPCUnsupportedPlugin
	register func(*grpc.Server)
}

var _ goplugin.GRPCPlugin = (*service)(nil)

// GRPCServer implements goplugin.GRPCPlugin.
func (s *service) GRPCServer(_ *goplugin.GRPCBroker, g *grpc.Server) error {
	s.register(g)
	return nil
}

// GRPCClient implements goplugin.GRPCPlugin. Hosts have their own client.
func (s *service) GRPCClient(context.Context, *goplugin.GRPCBroker, *grpc.ClientConn) (any, error) {
	return nil, errors.New("a plug-in cannot connect to itself")
}
