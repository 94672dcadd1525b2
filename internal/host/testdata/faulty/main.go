// Command faulty is a plug-in that misbehaves as its argument says, for the tests of
// the host. It is an environment, or a policy if "policy" precedes the argument. It
// implements the protocol by hand, because the SDK would prevent the misbehavior.
package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/hashicorp/go-hclog"
	goplugin "github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"

	"github.com/merit-rl/merit/internal/wire"
	pb "github.com/merit-rl/merit/internal/wire/proto"
)

func main() {
	mode := os.Args[1]
	if begin, ok := starts[mode]; ok {
		begin()
		return
	}
	serve := func(g *grpc.Server) { pb.RegisterEnvironmentServer(g, &server{mode: mode}) }
	if mode == "policy" {
		serve = func(g *grpc.Server) { pb.RegisterPolicyServer(g, &policy{mode: os.Args[2]}) }
		if os.Args[2] == "serves nothing" {
			serve = func(*grpc.Server) {}
		}
	}
	goplugin.Serve(&goplugin.ServeConfig{
		HandshakeConfig: goplugin.HandshakeConfig{
			ProtocolVersion: wire.Protocol, MagicCookieKey: wire.CookieKey, MagicCookieValue: wire.CookieValue,
		},
		Plugins:    goplugin.PluginSet{wire.Service: &service{serve: serve}},
		GRPCServer: goplugin.DefaultGRPCServer,
		Logger:     hclog.NewNullLogger(),
	})
}

// starts are the ways to fail before the handshake.
var starts = map[string]func(){
	"dies": func() {
		fmt.Fprintln(os.Stderr, "cannot find the \x1b[31mmaps\x1b[0m")
		os.Exit(3)
	},
	"garbage": func() { fmt.Println("Hello, world!"); sleep() },
	"no newline": func() {
		for {
			fmt.Print(strings.Repeat("x", 1<<16))
		}
	},
	"version": func() { fmt.Println("1|99|unix|/nowhere|grpc|"); sleep() },
	"silent":  sleep,
	"no socket": func() {
		fmt.Printf("1|%d|unix|/nowhere|grpc|\n", wire.Protocol)
		sleep()
	},
	"mute socket": func() {
		path := filepath.Join(os.Getenv(goplugin.EnvUnixSocketDir), "mute")
		if _, err := net.Listen("unix", path); err != nil {
			panic(err)
		}
		fmt.Printf("1|%d|unix|%s|grpc|\n", wire.Protocol, path)
		sleep()
	},
}

func sleep() { time.Sleep(time.Hour) }

type service struct {
	goplugin.NetRPCUnsupportedPlugin
	serve func(*grpc.Server)
}

func (s *service) GRPCServer(_ *goplugin.GRPCBroker, g *grpc.Server) error {
	s.serve(g)
	return nil
}

func (s *service) GRPCClient(context.Context, *goplugin.GRPCBroker, *grpc.ClientConn) (any, error) {
	return nil, nil
}

// server is an environment with one action, "a" in every slot. It behaves well until a
// slot steps.
type server struct {
	pb.UnimplementedEnvironmentServer
	mode  string
	slots int
	lane  lane // nil unless the host offered one
}

func (s *server) Describe(context.Context, *pb.DescribeRequest) (*pb.Description, error) {
	d := &pb.Description{Protocol: wire.Protocol, Name: "faulty", Version: "0"}
	switch s.mode {
	case "describes another version":
		d.Protocol = 2
	case "hangs in Describe":
		sleep()
	}
	return d, nil
}

func (s *server) Configure(_ context.Context, m *pb.ConfigureRequest) (*pb.ConfigureReply, error) {
	s.slots = int(m.Slots)
	spec := &pb.Spec{
		Name: "faulty", Version: "0", Slots: m.Slots, Actions: []string{"go"},
	}
	if s.mode == "another slot count" {
		spec.Slots++
	}
	return &pb.ConfigureReply{Spec: spec, Lane: s.take(m.Lane)}, nil
}

// Render returns the process id and the inherited variables.
func (s *server) Render(context.Context, *pb.RenderRequest) (*pb.RenderReply, error) {
	return &pb.RenderReply{Text: fmt.Sprintf("%d\n%s", os.Getpid(), strings.Join(os.Environ(), "\n"))}, nil
}

func (s *server) Run(stream grpc.BidiStreamingServer[pb.Batch, pb.BatchReply]) error {
	return s.answer(stream)
}

func (s *server) answer(stream stream) error {
	for {
		m, err := stream.Recv()
		if err != nil {
			return nil
		}
		reply := &pb.BatchReply{
			Seq: m.Seq, Anchor: []byte(strings.Repeat("a", s.slots)),
			Mask: []byte(strings.Repeat("\x01", s.slots)), Flags: make([]byte, s.slots), Reward: make([]byte, 8*s.slots),
		}
		for i := range s.slots {
			reply.AnchorEnd = append(reply.AnchorEnd, byte(i+1), 0, 0, 0)
		}
		if strings.IndexByte(string(m.Op), 1) >= 0 {
			if err := s.misbehave(m, reply); err != nil {
				return err
			}
		}
		if err := stream.Send(reply); err != nil {
			return err
		}
		if s.mode == "answers twice" {
			_ = stream.Send(reply)
		}
	}
}

func (s *server) misbehave(m *pb.Batch, reply *pb.BatchReply) error {
	switch s.mode {
	case "exits":
		fmt.Fprintln(os.NewFile(2, ""), "so long")
		os.Exit(7)
	case "panics":
		panic("index out of luck")
	case "hangs":
		sleep()
	case "stops":
		_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
		sleep()
	case "returns an error":
		return fmt.Errorf("the handler failed")
	case "ends the stream":
		return context.Canceled
	case "short reward":
		reply.Reward = reply.Reward[1:]
	case "reward is NaN":
		copy(reply.Reward, "\xff\xff\xff\xff\xff\xff\xff\xff")
	case "sends garbage":
		reply.ProtoReflect().SetUnknown([]byte{0xff})
	case "sends garbage for a length":
		_, _ = s.lane.Write([]byte("HTTP/1.1 400 Bad Request\r\n\r\n"))
		sleep()
	case "sends half a frame":
		_, _ = s.lane.Write([]byte{100, 0, 0, 0, 1, 2, 3})
		sleep()
	case "sends half a frame and goes":
		_, _ = s.lane.Write([]byte{100, 0, 0, 0, 1, 2, 3})
		return io.ErrUnexpectedEOF
	case "lends its lane":
		fmt.Fprintf(os.NewFile(2, ""), "daemon %d\n", s.lane.lend().Pid)
		sleep()
	case "unknown slot":
		reply.Events = append(reply.Events, &pb.Event{Slot: 3, Kind: "info", Name: "x", Message: "1"})
	case "wrong seq":
		reply.Seq++
	case "huge reply":
		reply.Anchor = make([]byte, wire.MaxMessage+1)
	case "eats memory":
		hog := make([]byte, 1<<30)
		for i := range hog {
			hog[i] = 1
		}
	case "floods":
		go flood(os.Stdout)
		go flood(os.Stderr)
		go flood(os.NewFile(1, "raw stdout"))
		go flood(os.NewFile(2, "raw stderr"))
		s.mode = "has flooded"
	case "leaves a grandchild":
		child := exec.Command("/bin/sleep", "1000")
		child.Stdout, child.Stderr = os.NewFile(1, ""), os.NewFile(2, "")
		_ = child.Start()
		fmt.Fprintf(os.NewFile(2, ""), "grandchild %d\n", child.Process.Pid)
		os.Exit(7)
	case "leaves a daemon":
		child := exec.Command("/bin/sleep", "2")
		child.Stdout, child.Stderr = os.NewFile(1, ""), os.NewFile(2, "")
		child.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		_ = child.Start()
		os.Exit(7)
	}
	return nil
}

func flood(f *os.File) {
	line := []byte(strings.Repeat("noise ", 200) + "\n")
	for {
		_, _ = f.Write(line)
	}
}
