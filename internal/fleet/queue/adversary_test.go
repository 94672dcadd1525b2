package queue_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	njs "github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nkeys"
	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/base/cputime"
	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/internal/fleet/natsd"
	"github.com/merit-rl/merit/internal/fleet/queue"
)

// adversary has a worker's key and does what it wants with it.
type adversary struct {
	t    *testing.T
	pair pair
	key  nkeys.KeyPair
	nc   *nats.Conn
	js   njs.JetStream
}

func newAdversary(t *testing.T, s *natsd.Server, p pair) *adversary {
	key, err := nkeys.FromSeed(p.seed)
	require.NoError(t, err)
	nc, err := nats.Connect(s.URL(), nats.Nkey(p.public, key.Sign), nats.CustomInboxPrefix("_INBOX_"+p.public))
	require.NoError(t, err)
	t.Cleanup(nc.Close)
	js, err := njs.New(nc)
	require.NoError(t, err)
	return &adversary{t, p, key, nc, js}
}

// grab takes shards until ctx is canceled and answers each at once.
func (a *adversary) grab(ctx context.Context, answer func(subject string) *nats.Msg) {
	for ctx.Err() == nil {
		q, err := a.js.Consumer(ctx, "MERIT_WORK", "b1_any")
		if err != nil {
			time.Sleep(20 * time.Millisecond)
			continue
		}
		batch, err := q.FetchNoWait(4)
		if err != nil {
			continue
		}
		for m := range batch.Messages() {
			_ = m.Ack() // first: what is sent again must not be what it still has
			reply := answer("merit.result." + strings.TrimPrefix(m.Subject(), "merit.work."))
			if _, err := a.js.PublishMsg(ctx, reply); err != nil && ctx.Err() == nil {
				a.t.Log(err)
			}
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// result is a wrong result in the name of a worker, signed by a key if it is not nil.
func result(t *testing.T, subject, worker string, key nkeys.KeyPair) *nats.Msg {
	m := nats.NewMsg(subject)
	m.Data = []byte("a lie")
	digest := queue.DigestOfBytes(m.Data)
	m.Header = nats.Header{"Merit-Worker": {worker}, "Merit-Digest": {string(digest)}, "Merit-Tries": {"1"}}
	if key != nil {
		public, err := key.PublicKey()
		require.NoError(t, err)
		sign, err := key.Sign([]byte(subject + "\n" + string(digest)))
		require.NoError(t, err)
		m.Header.Set("Merit-Key", public)
		m.Header.Set("Merit-Sign", base64.StdEncoding.EncodeToString(sign))
	}
	return m
}

// trueHandlers return correct results.
var trueHandlers = map[queue.Kind]queue.Handler{queue.Rollout: func(context.Context, queue.Shard) ([]byte, error) { return []byte("true"), nil }}

func some(n int) iter.Seq[queue.Shard] {
	return func(yield func(queue.Shard) bool) {
		for i := range n {
			if !yield(queue.Shard{Kind: queue.Rollout, Index: i, Body: []byte{byte(i)}}) {
				return
			}
		}
	}
}

// coordinator connects to s with options changed by change.
func coordinator(t *testing.T, s *natsd.Server, change func(*queue.Options)) *queue.Remote {
	o := options("")
	o.Server, o.Seed = s, boss.seed
	if change != nil {
		change(&o)
	}
	f, err := queue.Dial(t.Context(), o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, f.Close()) })
	return f
}

// onlyTrue runs a Submit whose results must all come from the honest worker.
func onlyTrue(t *testing.T, f *queue.Remote, n int) {
	t.Helper()
	got := 0
	for r, err := range f.Submit(t.Context(), "job", some(n)) {
		require.NoError(t, err)
		require.NoError(t, r.Err, "shard %d", r.Index)
		require.Equal(t, "true", string(r.Body))
		require.Equal(t, hands[0].public, r.Worker)
		got++
	}
	require.Equal(t, n, got)
}

// Promise: an unsigned result in another worker's name is refused, and nobody is blamed.
func TestNobodysResults(t *testing.T) {
	testneeds.NotShort(t)
	s := serve(t, t.TempDir(), "127.0.0.1:0")
	f := coordinator(t, s, nil)
	a := newAdversary(t, s, hands[1])
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		a.grab(ctx, func(subject string) *nats.Msg { return result(t, subject, "honest", nil) })
	}()
	go func() { // the honest one comes when there were lies, and the liar has enough
		for f.Counts().Refused < 3 && t.Context().Err() == nil {
			time.Sleep(5 * time.Millisecond)
		}
		stop()
	}()
	o := options(s.URL())
	o.Seed = hands[0].seed
	go func() {
		<-ended
		if t.Context().Err() == nil {
			work(t, o, queue.WorkOptions{Name: "honest", Handlers: trueHandlers})
		}
	}()
	onlyTrue(t, f, 3)
}

// Promise: the CPU time of a worker elsewhere counts in the coordinator's, once for each result.
func TestWorkersTimeCounts(t *testing.T) {
	testneeds.NotShort(t)
	s := serve(t, t.TempDir(), "127.0.0.1:0")
	f := coordinator(t, s, nil)
	a := newAdversary(t, s, hands[1])
	a.say("far")
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		a.grab(ctx, func(subject string) *nats.Msg {
			m := result(t, subject, "far", a.key)
			m.Header.Set("Merit-CPU", "1000.000000")
			return m
		})
	}()
	before, n := cputime.Seconds(), 0
	for r, err := range f.Submit(t.Context(), "job", some(3)) {
		require.NoError(t, err)
		require.NoError(t, r.Err)
		n++
	}
	require.Equal(t, 3, n)
	require.InDelta(t, 3000, cputime.Seconds()-before, 500)
	stop()
	<-ended
}

// Promise: a coordinator that reconnects a moment later accepts the result of a worker that has
// left meanwhile.
func TestWhoHasGoneIsKnown(t *testing.T) {
	testneeds.NotShort(t)
	s := serve(t, t.TempDir(), "127.0.0.1:0")
	first := coordinator(t, s, nil)
	one := newAdversary(t, s, hands[1])
	one.say("one")
	require.NoError(t, one.nc.Flush())
	ctx, stop := context.WithCancel(t.Context())
	given := make(chan struct{}, 8)
	go one.grab(ctx, func(subject string) *nats.Msg {
		m := result(t, subject, "one", one.key)
		given <- struct{}{}
		return m
	})
	go func() { // it is gone before it hears of any result
		for range 2 {
			<-given
		}
		time.Sleep(200 * time.Millisecond)
		stop()
		one.nc.Close()
		require.NoError(t, first.Close())
	}()
	for range first.Submit(t.Context(), "job", some(2)) {
		break // as if it had died: results stay
	}
	<-ctx.Done()
	soon, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	for r, err := range coordinator(t, s, nil).Submit(soon, "job", some(2)) {
		require.NoError(t, err)
		require.Equal(t, hands[1].public, r.Worker)
	}
}

// Promise: an excluded worker that keeps running and answers before the others uses up no tries
// of a shard: another worker can compute it.
func TestExcludedAndStays(t *testing.T) {
	testneeds.NotShort(t)
	s := serve(t, t.TempDir(), "127.0.0.1:0")
	f := coordinator(t, s, nil)
	f.Exclude(hands[1].public, nil)
	a := newAdversary(t, s, hands[1])
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		a.grab(ctx, func(subject string) *nats.Msg { return result(t, subject, "liar", a.key) })
	}()
	o := options(s.URL())
	o.Seed = hands[0].seed
	go func() {
		for f.Counts().Refused < 2*2*queue.MaxTries+8 && t.Context().Err() == nil { // all the tries that two shards have
			time.Sleep(5 * time.Millisecond)
		}
		stop()
		<-ended
		if t.Context().Err() == nil {
			work(t, o, queue.WorkOptions{Name: "honest", Handlers: trueHandlers})
		}
	}()
	onlyTrue(t, f, 2)
}

// Promise: a client that uses the name of a connected worker is not mistaken for it, and the
// worker is not drained in its place.
func TestNobodySpeaksForAnother(t *testing.T) {
	testneeds.NotShort(t)
	s := serve(t, t.TempDir(), "127.0.0.1:0")
	f := coordinator(t, s, nil)
	honest, liar := newAdversary(t, s, hands[0]), newAdversary(t, s, hands[1])
	spared, told := honest.told(), liar.told()
	honest.say("honest")
	liar.say("honest")
	liar.say("liar")
	require.Eventually(t, func() bool {
		s, err := f.Status(t.Context())
		return err == nil && len(s.Workers) == 3
	}, 5*time.Minute, 10*time.Millisecond)
	f.Exclude(hands[1].public, nil)
	honest.say("honest")
	liar.say("honest")
	liar.say("liar")
	for range 4 { // at once, and when it speaks again
		m, err := told.NextMsg(5 * time.Minute)
		require.NoError(t, err)
		require.Contains(t, m.Subject, hands[1].public)
	}
	require.NoError(t, honest.nc.Flush())
	n, _, err := spared.Pending()
	require.NoError(t, err)
	require.Zero(t, n)
}

// say reports a state as a worker of a name, with a's key.
func (a *adversary) say(name string) {
	text, err := json.Marshal(queue.Worker{Name: name, Key: a.pair.public, Build: "b1", Slots: 8, Joined: time.Now()})
	require.NoError(a.t, err)
	require.NoError(a.t, a.nc.Publish("merit.worker."+a.pair.public+"."+name, text))
}

// told receives the commands for workers with a's key.
func (a *adversary) told() *nats.Subscription {
	sub, err := a.nc.SubscribeSync("merit.control." + a.pair.public + ".*")
	require.NoError(a.t, err)
	require.NoError(a.t, a.nc.Flush())
	return sub
}

// Promise: excluded workers do not count. They are drained whenever they join, and a run
// without others fails after its patience.
func TestExcludedIsNobody(t *testing.T) {
	testneeds.NotShort(t)
	s := serve(t, t.TempDir(), "127.0.0.1:0")
	f := coordinator(t, s, func(o *queue.Options) { o.Patience = 2 * time.Second })
	f.Exclude(hands[1].public, nil)
	a := newAdversary(t, s, hands[1])
	told := a.told()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for ctx.Err() == nil {
			a.say("liar")
			time.Sleep(100 * time.Millisecond)
		}
	}()
	defer func() { stop(); <-ended }()
	for range 2 {
		m, err := told.NextMsg(5 * time.Minute)
		require.NoError(t, err)
		require.Equal(t, "drain", string(m.Data))
	}
	var last error
	for _, err := range f.Submit(t.Context(), "job", some(2)) {
		last = err
	}
	require.ErrorIs(t, last, fault.Of(fault.Fleet, fault.Timeout))
	require.ErrorContains(t, last, "no worker is connected")
}
