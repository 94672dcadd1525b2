package plugin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"reflect"
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

// Exit statuses of a plug-in, besides those of the Go runtime.
const (
	exitMisuse = 2 // started by hand, or a Definition that cannot work
	exitOrphan = 3 // the host is gone
)

// Serve offers the environment to the host that started this process, and
// returns when the host is done. It is all that a plug-in's main does. What the
// process prints becomes part of Merit's logs.
func Serve[Options any](d Definition[Options]) {
	s := &server{greeter: greet(d.Name, d.Version, d.Summary, d.Defaults, d.check()), open: d.Open}
	go s.tracker.Watch()
	serve(func(g *grpc.Server) { pb.RegisterEnvironmentServer(g, s) })
	bury(s.close())
}

// ServePolicy is Serve for a policy. Its requests run at the same time, each in
// a goroutine of its own.
func ServePolicy[Options any](d PolicyDefinition[Options]) {
	s := &policyServer{greeter: greet(d.Name, d.Version, d.Summary, d.Defaults, d.check()), build: d.build}
	serve(func(g *grpc.Server) { pb.RegisterPolicyServer(g, s) })
	bury(s.close())
}

// greeter says who the plug-in is.
type greeter struct {
	description wire.Description
	stderr      *os.File // the real one
	restore     sync.Once
}

// OptionsJSON returns the options with their defaults, as a configuration writes
// them.
func (d Definition[Options]) OptionsJSON() (json.RawMessage, error) { return optionsJSON(d.Defaults) }

// OptionsJSON returns the options with their defaults, as a configuration writes
// them.
func (d PolicyDefinition[Options]) OptionsJSON() (json.RawMessage, error) {
	return optionsJSON(d.Defaults)
}

func optionsJSON(defaults any) (json.RawMessage, error) {
	return json.Marshal(shown(reflect.ValueOf(defaults)))
}

// greet ends the process if it was started by hand or its definition is wrong.
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
		fmt.Fprintf(os.Stderr, "%s %s is a plug-in of Merit: %s\nIt is started by merit, not by hand.\n"+
			"Its options, with their defaults: %s\n", d.Name, d.Version, d.Summary, d.Options)
		os.Exit(exitMisuse)
	}
	go leaveWithParent(os.Getppid())
	return &greeter{description: d, stderr: os.Stderr}
}

// origin is what the Go linker left in the program: the module that it belongs
// to, Go and the platform.
func origin() string {
	built := runtime.Version() + " " + runtime.GOOS + "/" + runtime.GOARCH
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Path != "" {
		return info.Main.Path + " " + info.Main.Version + " " + built
	}
	return built
}

// describe answers Describe. It comes before any of the author's code, and
// gives that code the real stderr back, for both of its outputs: go-plugin
// sends them through the connection, where they slow messages down and are lost
// when the process leaves.
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

// bury reports what the end of the author's code had to say.
func bury(err error) {
	if err != nil {
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

// service registers the server with go-plugin. What it serves is what kind of
// plug-in it is.
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

// GRPCClient implements goplugin.GRPCPlugin; hosts have their own.
func (s *service) GRPCClient(context.Context, *goplugin.GRPCBroker, *grpc.ClientConn) (any, error) {
	return nil, errors.New("a plug-in does not dial itself")
}
