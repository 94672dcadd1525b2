package natsd_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
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
	"github.com/merit-rl/merit/internal/httpd/certtest"
)

// Promise: a server that other machines can reach needs keys and a certificate, and reports
// both at once if missing. A server for this machine needs none.
func TestListensBeyondThisMachineOnlyWithLocks(t *testing.T) {
	for _, listen := range []string{"0.0.0.0:0", ":0", "[::]:0", "192.0.2.1:4222"} {
		_, err := natsd.Start(t.Context(), natsd.Options{Dir: t.TempDir(), Listen: listen})
		require.ErrorIs(t, err, fault.Of(fault.Fleet, fault.Refused), listen)
		require.ErrorContains(t, err, "needs a list of accepted keys")
		require.ErrorContains(t, err, "no certificate is given")
	}
	_, public, err := natsd.NewKey()
	require.NoError(t, err)
	_, err = natsd.Start(t.Context(), natsd.Options{Dir: t.TempDir(), Listen: "0.0.0.0:0", Users: []natsd.User{{Key: public, Role: natsd.Worker}}})
	require.ErrorContains(t, err, "no certificate is given")
	s, err := natsd.Start(t.Context(), natsd.Options{Dir: t.TempDir(), Listen: "127.0.0.1:0"})
	require.NoError(t, err)
	require.NoError(t, s.Close())
}

// Promise: a server that cannot listen, or whose folder another server uses, reports it and
// leaves nothing behind.
func TestStartsOrSaysWhyNot(t *testing.T) {
	testneeds.NotShort(t)
	dir := t.TempDir()
	first, err := natsd.Start(t.Context(), natsd.Options{Dir: dir, Listen: "127.0.0.1:0"})
	require.NoError(t, err)
	_, err = natsd.Start(t.Context(), natsd.Options{Dir: dir, Listen: "127.0.0.1:0"})
	require.ErrorIs(t, err, fault.Of(fault.Fleet, fault.Refused))
	address := strings.TrimPrefix(first.URL(), "nats://")
	_, err = natsd.Start(t.Context(), natsd.Options{Dir: t.TempDir(), Listen: address})
	require.ErrorContains(t, err, "address already in use")
	require.NotEmpty(t, fault.As(err).Hint)
	for _, wrong := range []string{"x", "127.0.0.1:x", "127.0.0.1:99999"} {
		_, err = natsd.Start(t.Context(), natsd.Options{Dir: t.TempDir(), Listen: wrong})
		require.Error(t, err, wrong)
	}
	require.NoError(t, first.Close())
	again, err := natsd.Start(t.Context(), natsd.Options{Dir: dir, Listen: address})
	require.NoError(t, err)
	require.NoError(t, again.Close())
}

// end is a client with a key.
type end struct {
	seed   []byte
	public string
}

func newEnd(t *testing.T) (e end) {
	var err error
	e.seed, e.public, err = natsd.NewKey()
	require.NoError(t, err)
	return e
}

// locked is a server with TLS and two teams.
type locked struct {
	url                               string
	tls                               *tls.Config
	boss, hand, watcher, rival, rhand end
	admit                             func(more ...natsd.User) error
}

func lock(t *testing.T, teams ...natsd.Team) (l locked) {
	l.boss, l.hand, l.watcher, l.rival, l.rhand = newEnd(t), newEnd(t), newEnd(t), newEnd(t), newEnd(t)
	cert, key := certtest.Write(t, t.TempDir())
	pair, err := tls.LoadX509KeyPair(cert, key)
	require.NoError(t, err)
	users := []natsd.User{
		{Key: l.boss.public, Role: natsd.Coordinator, Team: "a"}, {Key: l.hand.public, Role: natsd.Worker, Team: "a"}, {Key: l.watcher.public, Role: natsd.Watcher, Team: "a"},
		{Key: l.rival.public, Role: natsd.Coordinator, Team: "b"}, {Key: l.rhand.public, Role: natsd.Worker, Team: "b"},
	}
	teams = append(teams, natsd.Team{Name: "b", Connections: 2}, natsd.Team{Name: "nobody"})
	s, err := natsd.Start(t.Context(), natsd.Options{
		Dir: t.TempDir(), Listen: "127.0.0.1:0", TLS: &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}, Users: users, Teams: teams,
	})
	require.NoError(t, err)
	l.admit = func(more ...natsd.User) error { return s.Admit(slices.Concat(users, more), teams) }
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	l.url, l.tls = s.URL(), certtest.Trust(t, cert)
	return l
}

func (l locked) options(who end) queue.Options {
	return queue.Options{URL: l.url, TLS: l.tls, Seed: who.seed, Name: "test", Build: "b", Patience: time.Minute}
}

// raw is a connection that ignores the protocol.
func (l locked) raw(t *testing.T, who end) (*nats.Conn, njs.JetStream, <-chan error) {
	pair, err := nkeys.FromSeed(who.seed)
	require.NoError(t, err)
	hurt := make(chan error, 16)
	nc, err := nats.Connect(l.url, nats.Secure(l.tls), nats.Nkey(who.public, pair.Sign), nats.CustomInboxPrefix("_INBOX_"+who.public),
		nats.PermissionErrOnSubscribe(true), nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { hurt <- err }))
	require.NoError(t, err)
	t.Cleanup(nc.Close)
	js, err := njs.New(nc, njs.WithDefaultTimeout(50*time.Millisecond))
	require.NoError(t, err)
	return nc, js, hurt
}

// Promise: a client without a key, with an unknown key, without TLS or without trust in the
// server's certificate cannot connect, and gets the reason.
func TestStrangersStayOut(t *testing.T) {
	testneeds.NotShort(t)
	l := lock(t)
	for what, change := range map[string]func(*queue.Options){
		"no key":          func(o *queue.Options) { o.Seed = nil },
		"an unknown key":  func(o *queue.Options) { o.Seed = newEnd(t).seed },
		"not a key":       func(o *queue.Options) { o.Seed = []byte("x") },
		"an old TLS":      func(o *queue.Options) { o.TLS.MaxVersion = tls.VersionTLS12 },
		"another's roots": func(o *queue.Options) { o.TLS = &tls.Config{RootCAs: x509.NewCertPool(), ServerName: "localhost"} },
	} {
		o := l.options(l.boss)
		o.TLS = o.TLS.Clone()
		change(&o)
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		_, err := queue.Dial(ctx, o)
		cancel()
		require.NotNil(t, fault.As(err), what)
		require.NotEmpty(t, fault.As(err).Hint, what)
	}
}

// Promise: teams share nothing. Each has its own queue, results and contents, and at most its
// number of connections.
func TestTeamsShareNothing(t *testing.T) {
	testneeds.NotShort(t)
	l := lock(t)
	ctx, stop := context.WithCancel(t.Context())
	var all sync.WaitGroup
	defer all.Wait()
	defer stop()
	text := []byte("weights")
	for team, who := range map[string][2]end{"a": {l.boss, l.hand}, "b": {l.rival, l.rhand}} {
		f, err := queue.Dial(t.Context(), l.options(who[0]))
		require.NoError(t, err)
		defer f.Close()
		all.Go(func() {
			_ = queue.Work(ctx, l.options(who[1]), queue.WorkOptions{
				Name: "worker", Slots: 1,
				Handlers: map[queue.Kind]queue.Handler{queue.Score: func(ctx context.Context, s queue.Shard) ([]byte, error) {
					for _, c := range s.Needs {
						if _, err := c.Bytes(ctx, 100); err != nil {
							return nil, err
						}
					}
					return []byte(team), nil
				}},
			})
		})
		shard := queue.Shard{Kind: queue.Score}
		if team == "a" {
			shard.Needs = []queue.Content{queue.ContentOf(text)}
		}
		for r, err := range f.Submit(t.Context(), "same-job", slices.Values([]queue.Shard{shard})) {
			require.NoError(t, err)
			require.NoError(t, r.Err)
			require.Equal(t, team, string(r.Body))
			require.Equal(t, who[1].public, r.Worker)
		}
	}
	pair, err := nkeys.FromSeed(l.rival.seed)
	require.NoError(t, err)
	_, err = nats.Connect(l.url, nats.Secure(l.tls), nats.Nkey(l.rival.public, pair.Sign))
	require.ErrorContains(t, err, "maximum account active connections")
}

// Promise: a worker can do only a worker's work, and a watcher can only look.
func TestRolesAreHeld(t *testing.T) {
	testneeds.NotShort(t)
	l := lock(t)
	f, err := queue.Dial(t.Context(), l.options(l.boss))
	require.NoError(t, err)
	defer f.Close()
	for role, who := range map[string]end{"worker": l.hand, "watcher": l.watcher} {
		nc, js, hurt := l.raw(t, who)
		refused := func(what string, try func() error) {
			err := try()
			require.Error(t, err, "%s: %s", role, what)
			select {
			case said := <-hurt:
				require.ErrorIs(t, said, nats.ErrPermissionViolation, "%s: %s", role, what)
			case <-time.After(5 * time.Minute):
				require.Fail(t, "it is not refused", "%s: %s: %v", role, what, err)
			}
		}
		ctx := t.Context()
		refused("makes a stream", func() error {
			_, err := js.CreateStream(ctx, njs.StreamConfig{Name: "MINE", Subjects: []string{"mine"}})
			return err
		})
		refused("submits work", func() error { _, err := js.Publish(ctx, "merit.work.b.any.score.job.0.key", nil); return err })
		refused("deletes the queue", func() error { return js.DeleteStream(ctx, "MERIT_WORK") })
		refused("empties the results", func() error {
			_, err := nc.Request("$JS.API.STREAM.PURGE.MERIT_RESULTS", nil, 50*time.Millisecond)
			return err
		})
		refused("deletes a consumer", func() error { return js.DeleteConsumer(ctx, "MERIT_WORK", "b_any") })
		refused("puts contents", func() error { _, err := js.Publish(ctx, "$O.merit-contents.C.x", nil); return err })
		refused("drains others", func() error { return heard(nc.Publish("merit.control.all", []byte("drain")), nc) })
		refused("hears all", func() error { return subscribe(nc, ">") })
		refused("hears others' answers", func() error { return subscribe(nc, "_INBOX_"+l.boss.public+".>") })
		if role == "worker" {
			refused("reads results", func() error {
				_, err := nc.Request("$JS.API.STREAM.MSG.GET.MERIT_RESULTS", []byte(`{"seq":1}`), 50*time.Millisecond)
				return err
			})
			refused("hears others' results", func() error { return subscribe(nc, "merit.result.>") })
			refused("answers what nobody asked", func() error {
				return heard(nc.Publish("_INBOX_"+l.boss.public+".x", []byte("forged")), nc)
			})
		} else {
			refused("gives results", func() error { _, err := js.Publish(ctx, "merit.result.b.any.score.job.0.key", nil); return err })
			refused("takes work", func() error {
				_, err := nc.Request("$JS.API.CONSUMER.MSG.NEXT.MERIT_WORK.b_any", []byte("1"), 50*time.Millisecond)
				return err
			})
		}
	}
}

// Promise: a coordinator's key can drain a worker and receives its confirmation, with the
// permissions that workers have.
func TestAWorkerSaysThatItDrains(t *testing.T) {
	testneeds.NotShort(t)
	l := lock(t)
	ended, there := make(chan error, 1), make(chan struct{})
	var once sync.Once
	f, err := queue.Dial(t.Context(), l.options(l.boss)) // makes the queue
	require.NoError(t, err)
	defer f.Close()
	go func() {
		ended <- queue.Work(t.Context(), l.options(l.hand), queue.WorkOptions{
			Name: "one", Slots: 1, OnState: func(queue.Worker) { once.Do(func() { close(there) }) },
		})
	}()
	<-there
	a, err := queue.Look(t.Context(), l.options(l.boss))
	require.NoError(t, err)
	defer a.Close()
	require.Eventually(t, func() bool {
		err = a.Drain(t.Context(), "one")
		return !errors.Is(err, fault.Of(fault.Fleet, fault.Missing)) // it listens a moment later
	}, time.Minute, 50*time.Millisecond)
	require.NoError(t, err)
	require.NoError(t, <-ended)
}

// heard turns a publish without a response into an error, so that only what the server reports
// counts.
func heard(err error, nc *nats.Conn) error {
	return errors.Join(err, nc.Flush(), errors.New("no answer"))
}

func subscribe(nc *nats.Conn, subject string) error {
	_, err := nc.SubscribeSync(subject)
	return heard(err, nc)
}

func decode(t *testing.T, text []byte, into any) {
	t.Helper()
	require.NoError(t, json.Unmarshal(text, into))
}
