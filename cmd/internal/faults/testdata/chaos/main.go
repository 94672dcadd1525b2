// Command chaos plays the environment of another plug-in and misbehaves in the
// way that its first argument says: at one batch of a whole run, or at the same
// batch of every process, or whenever an episode of one start is stepped. It speaks the protocol by hand: the SDK would not let
// it.
//
//	chaos FAULT once|always|SEED BATCH FOLDER PLUGIN
//
// In FOLDER it notes what it did and when.
package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"github.com/hashicorp/go-hclog"
	goplugin "github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"

	"github.com/merit-rl/merit/internal/wire"
	pb "github.com/merit-rl/merit/internal/wire/proto"
)

func main() {
	batch, err := strconv.Atoi(os.Args[3])
	must(err)
	m := &mischief{fault: os.Args[1], always: os.Args[2] == "always", batch: batch, folder: os.Args[4]}
	m.seed, _ = strconv.ParseUint(os.Args[2], 10, 64) // 0 for a word
	m.note("start")
	protocol := m.start()
	client := goplugin.NewClient(&goplugin.ClientConfig{
		HandshakeConfig: handshake(wire.Protocol), Plugins: goplugin.PluginSet{wire.Service: &service{}},
		AllowedProtocols: []goplugin.Protocol{goplugin.ProtocolGRPC}, Logger: hclog.NewNullLogger(),
		Cmd: exec.Command(os.Args[5]),
	})
	defer client.Kill()
	connection, err := client.Client()
	must(err)
	conn, err := connection.Dispense(wire.Service)
	must(err)
	s := &server{behind: pb.NewEnvironmentClient(conn.(*grpc.ClientConn)), mischief: m}
	goplugin.Serve(&goplugin.ServeConfig{
		HandshakeConfig: handshake(protocol), Plugins: goplugin.PluginSet{wire.Service: &service{server: s}},
		Logger: hclog.NewNullLogger(),
		GRPCServer: func(options []grpc.ServerOption) *grpc.Server {
			return grpc.NewServer(append(options, grpc.ForceServerCodecV2(codec{}))...)
		},
	})
}

func handshake(protocol uint) goplugin.HandshakeConfig {
	return goplugin.HandshakeConfig{ProtocolVersion: protocol, MagicCookieKey: wire.CookieKey, MagicCookieValue: wire.CookieValue}
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "chaos:", err)
		os.Exit(1)
	}
}

// mischief is what goes wrong and when.
type mischief struct {
	fault  string
	always bool
	batch  int // of those with a step
	folder string

	seed     uint64 // of the start that it is due at; 0 = another rule
	batches  int
	answered bool
}

// due reports whether now is the time: at a batch, once in the run or once in
// every process.
func (m *mischief) due(playing map[int]uint64, op []byte) bool {
	if m.seed != 0 {
		for slot, seed := range playing {
			if seed == m.seed && op[slot] == 1 {
				return true
			}
		}
		return false
	}
	m.batches++
	if m.fault == "none" || m.batches != m.batch {
		return false
	}
	if !m.always && !m.first("done") {
		return false
	}
	m.note("fault")
	return true
}

// first reports whether no process did what is called name before.
func (m *mischief) first(name string) bool {
	f, err := os.OpenFile(filepath.Join(m.folder, name), os.O_CREATE|os.O_EXCL, 0o600)
	if err == nil {
		_ = f.Close()
	}
	return err == nil
}

// note writes an event with its time.
func (m *mischief) note(event string) {
	f, err := os.OpenFile(filepath.Join(m.folder, "events"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	must(err)
	defer f.Close()
	_, err = fmt.Fprintf(f, "%s %d %d\n", event, os.Getpid(), time.Now().UnixNano())
	must(err)
}

// start is what goes wrong before the handshake, in the process that follows a
// crash. It returns the protocol to speak.
func (m *mischief) start() uint {
	_, err := os.Stat(filepath.Join(m.folder, "crashed"))
	if err != nil || !m.always && !m.first("started") {
		return wire.Protocol
	}
	switch m.fault {
	case "slow start":
		time.Sleep(time.Hour)
	case "old protocol":
		return wire.Protocol + 98
	}
	return wire.Protocol
}

type service struct {
	goplugin.NetRPCUnsupportedPlugin
	server *server
}

func (s *service) GRPCServer(_ *goplugin.GRPCBroker, g *grpc.Server) error {
	pb.RegisterEnvironmentServer(g, s.server)
	return nil
}

func (s *service) GRPCClient(_ context.Context, _ *goplugin.GRPCBroker, conn *grpc.ClientConn) (any, error) {
	return conn, nil
}
