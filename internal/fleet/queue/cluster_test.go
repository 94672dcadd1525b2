package queue_test

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

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/internal/fleet/natsd"
	"github.com/merit-rl/merit/internal/fleet/queue"
)

// nodeOf is set to the configuration in a process that is a server of a cluster.
const nodeOf = "MERIT_TEST_NODE"

func TestMain(m *testing.M) {
	if config := os.Getenv(nodeOf); config != "" {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
		defer stop()
		if err := natsd.ClusterServe(ctx, config, slog.New(slog.NewTextHandler(os.Stderr, nil))); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// servers is a cluster of server processes that can be killed.
type servers struct {
	t     *testing.T
	nodes []natsd.ClusterNode
	up    []*exec.Cmd // nil is one that does not run
	nc    *nats.Conn  // of the coordinator's key
	js    njs.JetStream
}

func cluster3(t *testing.T) *servers {
	testneeds.Slow(t, "starts clusters of three servers")
	users := []natsd.User{{Key: boss.public, Role: natsd.Coordinator}}
	for _, hand := range hands {
		users = append(users, natsd.User{Key: hand.public, Role: natsd.Worker})
	}
	nodes, err := natsd.ClusterConfigure(t.TempDir(), 3, users, nil)
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

func (s *servers) url() string { return natsd.ClusterURL(s.nodes) }

func (s *servers) start(i int) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), nodeOf+"="+s.nodes[i].Config)
	if os.Getenv("MERIT_TEST_LOG") != "" {
		cmd.Stderr = os.Stderr
	}
	require.NoError(s.t, cmd.Start())
	s.up[i] = cmd
}

// kill kills a server with SIGKILL, so that it hands nothing over.
func (s *servers) kill(i int) {
	if cmd := s.up[i]; cmd != nil {
		s.up[i] = nil
		require.NoError(s.t, cmd.Process.Signal(syscall.SIGKILL))
		_ = cmd.Wait() // it was killed
	}
}

// wipe deletes a server's disk.
func (s *servers) wipe(i int) { require.NoError(s.t, os.RemoveAll(s.nodes[i].Store)) }

// leader returns the server that leads a stream.
func (s *servers) leader(stream string) int {
	found := -1
	require.Eventually(s.t, func() bool {
		info, err := s.info(stream)
		if err == nil && info.Cluster != nil {
			found = slices.IndexFunc(s.nodes, func(n natsd.ClusterNode) bool { return n.Name == info.Cluster.Leader })
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

// all lists all streams of a fleet.
var all = []string{"MERIT_WORK", "MERIT_RESULTS", "MERIT_DEAD", "MERIT_WORKERS", "MERIT_LOGS", "OBJ_merit-contents", "MERIT_BODIES"}

// copies returns the number of copies of each stream.
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

func (s *servers) options(who pair, only ...int) queue.Options {
	o := options(s.url())
	if len(only) > 0 {
		o.URL = s.nodes[only[0]].URL
	}
	o.Seed = who.seed
	return o
}

func (s *servers) dial(o queue.Options) *queue.Remote {
	f, err := queue.Dial(s.t.Context(), o)
	require.NoError(s.t, err)
	s.t.Cleanup(func() { require.NoError(s.t, f.Close()) })
	return f
}

// Promise: a fleet on a cluster of three servers passes the suite of every fleet.
func TestContractOfACluster(t *testing.T) {
	t.Parallel() // it waits, most of the time
	s, made := cluster3(t), 0
	Run(t, func(t *testing.T, handlers map[queue.Kind]queue.Handler, workers int) queue.Fleet {
		made++
		o := s.options(boss)
		o.Build = fmt.Sprintf("contract-%d", made)
		f, err := queue.Dial(t.Context(), o)
		require.NoError(t, err)
		for i := range workers {
			o.Seed = hands[i].seed
			work(t, o, queue.WorkOptions{Name: fmt.Sprintf("w%d-%d", made, i), Handlers: handlers})
		}
		return f
	})
	require.Equal(t, each(3), s.copies())
}

// run is a job that is computed while something happens to the servers.
type run struct {
	standing time.Duration // the longest time without one
	after    int           // the result that it came before
}

// through computes n shards with four workers, calls at before it takes the result of that
// number, and checks all results.
func (s *servers) through(f *queue.Remote, job string, n int, at map[int]func()) (r run) {
	began, last := time.Now(), time.Now()
	got := map[int]bool{}
	for res, err := range f.Submit(s.t.Context(), job, func(yield func(queue.Shard) bool) {
		for i := range n {
			if !yield(queue.Shard{Kind: queue.Rollout, Index: i, Body: fmt.Appendf(nil, "%s %d", job, i)}) {
				return
			}
		}
	}) {
		require.NoError(s.t, err)
		require.NoError(s.t, res.Err)
		require.False(s.t, got[res.Index], "twice")
		require.Equal(s.t, fmt.Sprintf("result of %s %d", job, res.Index), string(res.Body))
		got[res.Index] = true
		if gap := time.Since(last); gap > r.standing {
			r.standing, r.after = gap, len(got)
		}
		if happens := at[len(got)]; happens != nil {
			happens()
		}
		last = time.Now()
	}
	require.Len(s.t, got, n)
	c := f.Counts()
	s.t.Logf("%s: %d shards in %.1f s, longest standstill %.1f s before result %d; redelivered %d, sent again %d, refused %d, twice %d, differing %d",
		job, n, time.Since(began).Seconds(), r.standing.Seconds(), r.after, c.Redelivered, c.Resubmitted, c.Refused, c.Twice, c.Differing)
	require.Zero(s.t, c.Differing+c.Dead)
	return r
}

// fourWorkers starts four workers whose shards take some milliseconds.
func (s *servers) fourWorkers(o func(pair) queue.Options) {
	for i, hand := range hands {
		work(s.t, o(hand), queue.WorkOptions{Name: fmt.Sprintf("w%d", i), Handlers: map[queue.Kind]queue.Handler{
			queue.Rollout: func(ctx context.Context, shard queue.Shard) ([]byte, error) {
				select {
				case <-ctx.Done():
					return nil, ctx.Err()
				case <-time.After(30 * time.Millisecond):
				}
				return append([]byte("result of "), shard.Body...), nil
			},
		}})
	}
}

// Promise: killing one of three servers, the one that leads the queue and to which everybody is
// connected, delays a run by some seconds and has no other effect: while it stays away, when it
// returns, and when it returns without its disk.
func TestAServerOfThreeIsKilled(t *testing.T) {
	t.Parallel() // it waits, most of the time
	s := cluster3(t)
	first := s.dial(s.options(boss)) // makes the streams
	lead := s.leader("MERIT_WORK")
	to := func(who pair) queue.Options { return s.options(who, lead) }
	f := s.dial(to(boss))
	s.fourWorkers(to)
	s.through(f, "killed", 300, map[int]func(){80: func() { s.kill(lead) }})
	require.NotEqual(t, lead, s.leader("MERIT_WORK"))

	s.through(s.dial(s.options(boss)), "joined-meanwhile", 60, nil)
	s.through(f, "is-back", 200, map[int]func(){50: func() { s.start(lead) }})
	s.whole("MERIT_WORK")

	next := s.leader("MERIT_WORK")
	s.through(first, "without-its-disk", 300, map[int]func(){80: func() { s.kill(next); s.wipe(next); s.start(next) }})
	s.whole(all...)
	last := s.leader("MERIT_WORK") // what the others have is worth a server
	s.through(f, "the-other", 200, map[int]func(){50: func() { s.kill(last) }})
}

// whole waits until every copy of the streams equals its leader's.
func (s *servers) whole(streams ...string) {
	began := time.Now()
	for _, name := range streams {
		require.Eventually(s.t, func() bool {
			info, err := s.info(name)
			return err == nil && current(info.Cluster)
		}, time.Minute, 100*time.Millisecond, name)
	}
	require.Eventually(s.t, func() bool { // its queue, which follows later where copies were added
		q, err := s.js.Consumer(s.t.Context(), "MERIT_WORK", "b1_any")
		return err == nil && current(q.CachedInfo().Cluster)
	}, time.Minute, 100*time.Millisecond, "consumer")
	s.t.Logf("whole after %.1f s", time.Since(began).Seconds())
}

func current(at *njs.ClusterInfo) bool {
	return at != nil && len(at.Replicas) == 2 && !slices.ContainsFunc(at.Replicas, func(p *njs.PeerInfo) bool { return p.Offline || !p.Current })
}

// Promise: while two of three servers are down, a run waits. It continues when they are back,
// and also after all three were down.
func TestMostServersAreAway(t *testing.T) {
	t.Parallel() // it waits, most of the time
	s := cluster3(t)
	f := s.dial(s.options(boss))
	s.fourWorkers(func(who pair) queue.Options { return s.options(who) })
	for job, gone := range map[string][]int{"two": {0, 1}, "all": {0, 1, 2}} {
		r := s.through(f, job, 300, map[int]func(){80: func() {
			for _, i := range gone {
				s.kill(i)
			}
			time.AfterFunc(3*time.Second, func() {
				for _, i := range gone {
					s.start(i)
				}
			})
		}})
		require.Greater(t, r.standing, 2*time.Second, "nothing is kept by one of three")
		s.whole(all...)
	}
}

// Promise: copies are added to existing streams while they are in use, and removed only if the
// configuration says so.
func TestCopiesAreAdded(t *testing.T) {
	t.Parallel() // it waits, most of the time
	s := cluster3(t)
	o := s.options(boss)
	o.Replicas = 1
	f := s.dial(o)
	require.Equal(t, each(1), s.copies())
	s.fourWorkers(func(who pair) queue.Options { return s.options(who) })
	joined := make(chan error, 1)
	dialled := func(o queue.Options) error {
		f, err := queue.Dial(t.Context(), o)
		if err == nil {
			err = f.Close()
		}
		return err
	}
	s.through(f, "grows", 300, map[int]func(){80: func() { go func() { joined <- dialled(s.options(boss)) }() }})
	require.NoError(t, <-joined)
	require.Equal(t, each(3), s.copies())
	s.whole(all...)
	lead := s.leader("MERIT_WORK")
	s.through(f, "outlives", 200, map[int]func(){50: func() { s.kill(lead) }})
	s.start(lead)
	s.whole(all...)
	s.through(f, "shrinks", 200, map[int]func(){50: func() { go func() { joined <- dialled(o) }() }})
	require.NoError(t, <-joined)
	require.Equal(t, each(1), s.copies())

	o.Replicas = 5
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Second)
	defer cancel()
	_, err := queue.Dial(ctx, o)
	require.ErrorIs(t, err, fault.Of(fault.Fleet, fault.Exhausted))
	require.ErrorContains(t, err, "no suitable peers")
}

// Promise: a coordinator that starts first, while one of three servers is down, still makes
// three copies.
func TestCopiesForAServerThatIsAway(t *testing.T) {
	t.Parallel() // it waits, most of the time
	s := cluster3(t)
	require.Eventually(t, func() bool { // the servers know each other
		_, err := s.js.CreateOrUpdateStream(t.Context(), njs.StreamConfig{Name: "PROBE", Subjects: []string{"probe"}, Replicas: 3})
		return err == nil
	}, time.Minute, 100*time.Millisecond)
	require.NoError(t, s.js.DeleteStream(t.Context(), "PROBE"))
	s.kill(1)
	f := s.dial(s.options(boss))
	require.Equal(t, each(3), s.copies())
	s.fourWorkers(func(who pair) queue.Options { return s.options(who) })
	s.through(f, "incomplete", 60, nil)
	s.start(1)
	s.whole(all...)
}

// Promise: a single server keeps one copy by default, for the first coordinator and for later
// ones. A number that it cannot keep is an error at once.
func TestCopiesOfOneServer(t *testing.T) {
	testneeds.Slow(t, "starts clusters of three servers")
	s := serve(t, t.TempDir(), "127.0.0.1:0")
	o := options(s.URL())
	o.Seed = boss.seed
	for _, replicas := range []int{0, 1, 0} {
		o.Replicas = replicas
		f, err := queue.Dial(t.Context(), o)
		require.NoError(t, err)
		require.NoError(t, f.Close())
	}
	o.Replicas = 3
	_, err := queue.Dial(t.Context(), o)
	require.ErrorIs(t, err, fault.Of(fault.Fleet, fault.Refused))
	require.Contains(t, fault.As(err).Hint, "fleet.replicas")
}
