package jetstream_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/fleet"
	"github.com/merit-rl/merit/core/fleet/fleettest"
	"github.com/merit-rl/merit/core/fleet/jetstream"
	"github.com/merit-rl/merit/core/fleet/keys"
	"github.com/merit-rl/merit/core/fleet/natsd"
)

// quick are clocks for tests: long enough that a busy machine does not lose a
// shard that is under way.
var quick = jetstream.Timings{AckWait: 4 * time.Second, Beat: 500 * time.Millisecond, Watch: 2 * time.Second, Grace: 3 * time.Second}

// pair is a key of the tests.
type pair struct {
	seed   []byte
	public string
}

func newPair() (p pair) {
	p.seed, p.public, _ = keys.New()
	return p
}

// boss is the coordinators' key, hands are those of workers: who has one key is one.
var boss, hands = newPair(), []pair{newPair(), newPair(), newPair(), newPair()}

// serve starts a server in dir.
func serve(t *testing.T, dir, listen string) *natsd.Server {
	users := []keys.User{{Key: boss.public, Role: keys.Coordinator}}
	for _, hand := range hands {
		users = append(users, keys.User{Key: hand.public, Role: keys.Worker})
	}
	s, err := natsd.Start(t.Context(), natsd.Options{Dir: dir, Listen: listen, Users: users})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

func options(url string) jetstream.Options {
	o := jetstream.Options{URL: url, Name: "test", Build: "b1", Timings: quick}
	if os.Getenv("MERIT_TEST_LOG") != "" {
		o.Log = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	return o
}

// work starts a worker that drains when the test or the function that is
// returned ends it.
func work(t *testing.T, o jetstream.Options, w jetstream.WorkOptions) (drain func()) {
	if w.Slots == 0 {
		w.Slots = 1
	}
	dir := t.TempDir()
	w.Cache = func(fetch func(context.Context, fleet.Digest) (io.ReadCloser, error)) (*fleet.Cache, error) {
		return fleet.OpenCache(fleet.CacheOptions{Dir: dir, Limit: 1 << 30, Fetch: fetch})
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- jetstream.Work(ctx, o, w) }()
	var once sync.Once
	drain = func() {
		once.Do(func() {
			cancel()
			require.NoError(t, <-ended)
		})
	}
	t.Cleanup(drain)
	return drain
}

// Promise: a fleet of workers behind a server does what every fleet does.
func TestContract(t *testing.T) {
	s := serve(t, t.TempDir(), "127.0.0.1:0")
	made := 0
	fleettest.Run(t, func(t *testing.T, handlers map[fleet.Kind]fleet.Handler, workers int) fleet.Fleet {
		made++
		o := options(s.URL())
		o.Build = fmt.Sprintf("contract-%d", made) // the one before is left to drain
		mine := o
		mine.Server, mine.Seed = s, boss.seed
		f, err := jetstream.Dial(t.Context(), mine)
		require.NoError(t, err)
		for i := range workers {
			o.Seed = hands[i].seed
			work(t, o, jetstream.WorkOptions{Name: fmt.Sprintf("w%d-%d", made, i), Handlers: handlers})
		}
		return f
	})
}
