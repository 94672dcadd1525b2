package jetstream_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	njs "github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nkeys"
	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/fleet"
	"github.com/merit-rl/merit/core/fleet/fleettest"
	"github.com/merit-rl/merit/core/fleet/jetstream"
	"github.com/merit-rl/merit/core/fleet/keys"
	"github.com/merit-rl/merit/core/fleet/natsd/cluster"
)

// nodeOf is set, in a process that is a server of a cluster, to its configuration.
const nodeOf = "MERIT_TEST_NODE"

func TestMain(m *testing.M) {
	if config := os.Getenv(nodeOf); config != "" {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
		defer stop()
		if err := cluster.Serve(ctx, config, slog.New(slog.NewTextHandler(os.Stderr, nil))); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// servers are a cluster of servers, each a process that can be killed.
type servers struct {
	t     *testing.T
	nodes []cluster.Node
	up    []*exec.Cmd // nil is one that does not run
	nc    *nats.Conn  // of the coordinator's key
	js    njs.JetStream
}

func cluster3(t *testing.T) *servers {
	users := []keys.User{{Key: boss.public, Role: keys.Coordinator}}
	for _, hand := range hands {
		users = append(users, keys.User{Key: hand.public, Role: keys.Worker})
	}
	nodes, err := cluster.Configure(t.TempDir(), 3, users, nil)
	require.NoError(t, err)
	s := &servers{t: t, nodes: nodes, up: make([]*exec.Cmd, len(nodes))}
	t.Cleanup(func() {
		for i := range s.up {
			s.kill(i)
		}
	})
	for i := range nodes {
		s.start(i)
	}
	key, err := nkeys.FromSeed(boss.seed)
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		s.nc, err = nats.Connect(s.url(), nats.Nkey(boss.public, key.Sign), nats.CustomInboxPrefix("_INBOX_"+boss.public), nats.MaxReconnects(-1), nats.ReconnectWait(50*time.Millisecond))
		return err == nil
	}, time.Minute, 50*time.Millisecond)
	t.Cleanup(s.nc.Close)
	s.js, err = njs.New(s.nc, njs.WithDefaultTimeout(time.Second))
	require.NoError(t, err)
	return s
}

func (s *servers) url() string { return cluster.URL(s.nodes) }

func (s *servers) start(i int) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), nodeOf+"="+s.nodes[i].Config)
	if os.Getenv("MERIT_TEST_LOG") != "" {
		cmd.Stderr = os.Stderr
	}
	require.NoError(s.t, cmd.Start())
	s.up[i] = cmd
}

// kill is kill -9: nothing is handed over.
func (s *servers) kill(i int) {
	if cmd := s.up[i]; cmd != nil {
		s.up[i] = nil
		require.NoError(s.t, cmd.Process.Signal(syscall.SIGKILL))
		_ = cmd.Wait() // it was killed
	}
}

// wipe is a disk that is lost.
func (s *servers) wipe(i int) { require.NoError(s.t, os.RemoveAll(s.nodes[i].Store)) }

// leader is the server that leads a stream.
func (s *servers) leader(stream string) int {
	found := -1
	require.Eventually(s.t, func() bool {
		info, err := s.info(stream)
		if err == nil && info.Cluster != nil {
			found = slices.IndexFunc(s.nodes, func(n cluster.Node) bool { return n.Name == info.Cluster.Leader })
		}
		return found >= 0
	}, time.Minute, 50*time.Millisecond)
	return found
}

func (s *servers) info(stream string) (*njs.StreamInfo, error) {
	at, err := s.js.Stream(s.t.Context(), stream)
	if err != nil {
		return nil, err
	}
	return at.CachedInfo(), nil
}

// streams is everything that a fleet makes.
var all = []string{"MERIT_WORK", "MERIT_RESULTS", "MERIT_CAUSES", "MERIT_DEAD", "MERIT_WORKERS", "MERIT_LOGS", "OBJ_merit-contents", "OBJ_merit-results"}

// copies are how many copies each stream has.
func (s *servers) copies() map[string]int {
	n := map[string]int{}
	for _, name := range all {
		info, err := s.info(name)
		require.NoError(s.t, err, name)
		n[name] = info.Config.Replicas
	}
	return n
}

func each(n int) map[string]int {
	m := map[string]int{}
	for _, name := range all {
		m[name] = n
	}
	return m
}

func (s *servers) options(who pair, only ...int) jetstream.Options {
	o := options(s.url())
	if len(only) > 0 {
		o.URL = s.nodes[only[0]].URL
	}
	o.Seed = who.seed
	return o
}

func (s *servers) dial(o jetstream.Options) *jetstream.Fleet {
	f, err := jetstream.Dial(s.t.Context(), o)
	require.NoError(s.t, err)
	s.t.Cleanup(func() { require.NoError(s.t, f.Close()) })
	return f
}

// Promise: a fleet on a cluster of three servers does what every fleet does.
func TestContractOfACluster(t *testing.T) {
	s, made := cluster3(t), 0
	fleettest.Run(t, func(t *testing.T, handlers map[fleet.Kind]fleet.Handler, workers int) fleet.Fleet {
		made++
		o := s.options(boss)
		o.Build = fmt.Sprintf("contract-%d", made)
		f, err := jetstream.Dial(t.Context(), o)
		require.NoError(t, err)
		for i := range workers {
			o.Seed = hands[i].seed
			work(t, o, jetstream.WorkOptions{Name: fmt.Sprintf("w%d-%d", made, i), Handlers: handlers})
		}
		return f
	})
	require.Equal(t, each(3), s.copies())
}
