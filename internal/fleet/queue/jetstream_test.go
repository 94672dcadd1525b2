package queue_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	njs "github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nkeys"
	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/internal/fleet/natsd"
	"github.com/merit-rl/merit/internal/fleet/queue"
)

// quick are short timings for tests. They are long enough that a busy machine does not lose a
// running shard.
var quick = queue.Timings{AckWait: 4 * time.Second, Beat: 500 * time.Millisecond, Watch: 2 * time.Second, Grace: 3 * time.Second}

// pair is a key for tests.
type pair struct {
	seed   []byte
	public string
}

func newPair() (p pair) {
	p.seed, p.public, _ = natsd.NewKey()
	return p
}

// boss is the coordinators' key; hands are those of workers, because a key identifies a worker.
var boss, hands = newPair(), []pair{newPair(), newPair(), newPair(), newPair()}

// serve starts a server in dir.
func serve(t *testing.T, dir, listen string) *natsd.Server {
	users := []natsd.User{{Key: boss.public, Role: natsd.Coordinator}}
	for _, hand := range hands {
		users = append(users, natsd.User{Key: hand.public, Role: natsd.Worker})
	}
	s, err := natsd.Start(t.Context(), natsd.Options{Dir: dir, Listen: listen, Users: users})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

func options(url string) queue.Options {
	o := queue.Options{URL: url, Name: "test", Build: "b1", Timings: quick}
	if os.Getenv("MERIT_TEST_LOG") != "" {
		o.Log = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	return o
}

// work starts a worker that drains when the test ends or the returned function is called.
func work(t *testing.T, o queue.Options, w queue.WorkOptions) (drain func()) {
	if w.Slots == 0 {
		w.Slots = 1
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- queue.Work(ctx, o, w) }()
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

// Promise: a fleet of workers behind a server passes the suite of every fleet.
func TestContractOfRemote(t *testing.T) {
	testneeds.Slow(t, "waits for workers that are away")
	s := serve(t, t.TempDir(), "127.0.0.1:0")
	made := 0
	Run(t, func(t *testing.T, handlers map[queue.Kind]queue.Handler, workers int) queue.Fleet {
		made++
		o := options(s.URL())
		o.Build = fmt.Sprintf("contract-%d", made) // the one before is left to drain
		mine := o
		mine.Server, mine.Seed = s, boss.seed
		f, err := queue.Dial(t.Context(), mine)
		require.NoError(t, err)
		for i := range workers {
			o.Seed = hands[i].seed
			work(t, o, queue.WorkOptions{Name: fmt.Sprintf("w%d-%d", made, i), Handlers: handlers})
		}
		return f
	})
}

// Promise: a content that the server has lost in part, for example because it was down during
// the upload, is uploaded again.
func TestPutsAgainWhatIsNotWhole(t *testing.T) {
	testneeds.NotShort(t)
	s := serve(t, t.TempDir(), "127.0.0.1:0")
	content := bytes.Repeat([]byte("weights "), 50_000)
	o := options(s.URL())
	hand := o
	o.Seed, hand.Seed = boss.seed, hands[0].seed
	put := func() {
		f, err := queue.Dial(t.Context(), o)
		require.NoError(t, err)
		drain := work(t, hand, queue.WorkOptions{Name: "w", Handlers: map[queue.Kind]queue.Handler{queue.Score: texts}})
		got := gather(t, f, "put", []queue.Shard{{Kind: queue.Score, Needs: []queue.Content{queue.ContentOf(content)}}})
		require.NoError(t, got[0].Err)
		require.True(t, bytes.Equal(content, got[0].Body))
		drain()
		require.NoError(t, f.Close())
	}
	put()
	key, err := nkeys.FromSeed(boss.seed)
	require.NoError(t, err)
	nc, err := nats.Connect(s.URL(), nats.Nkey(boss.public, key.Sign), nats.CustomInboxPrefix("_INBOX_"+boss.public))
	require.NoError(t, err)
	defer nc.Close()
	js, err := njs.New(nc)
	require.NoError(t, err)
	stream, err := js.Stream(t.Context(), "OBJ_merit-contents")
	require.NoError(t, err)
	require.NoError(t, stream.Purge(t.Context(), njs.WithPurgeSubject("$O.merit-contents.C.>")))

	put()
}
