package natsd_test

import (
	"context"
	"crypto/tls"
	"io"
	"slices"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	njs "github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/fleet"
	"github.com/merit-rl/merit/internal/fleet/jetstream"
	"github.com/merit-rl/merit/internal/fleet/keys"
	"github.com/merit-rl/merit/internal/fleet/natsd"
	"github.com/merit-rl/merit/internal/httpd/certtest"
)

// changing is a server whose users change.
type changing struct {
	locked
	*natsd.Server
	t                   *testing.T
	boss, hand, watcher keys.User
	rival               keys.User
}

func change(t *testing.T) *changing {
	c := &changing{t: t, locked: locked{boss: newEnd(t), hand: newEnd(t), watcher: newEnd(t), rival: newEnd(t)}}
	cert, key := certtest.Write(t, t.TempDir())
	pair, err := tls.LoadX509KeyPair(cert, key)
	require.NoError(t, err)
	c.tls = certtest.Trust(t, cert)
	c.boss, c.hand = keys.User{Key: c.locked.boss.public, Role: keys.Coordinator, Team: "a"}, keys.User{Key: c.locked.hand.public, Role: keys.Worker, Team: "a"}
	c.watcher, c.rival = keys.User{Key: c.locked.watcher.public, Role: keys.Watcher, Team: "a"}, keys.User{Key: c.locked.rival.public, Role: keys.Coordinator, Team: "b"}
	c.Server, err = natsd.Start(t.Context(), natsd.Options{
		Dir: t.TempDir(), Listen: "127.0.0.1:0", TLS: &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS13},
		Users: []keys.User{c.boss, c.hand, c.watcher, c.rival}, Teams: []keys.Team{{Name: "a"}, {Name: "b"}},
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	c.url = c.URL()
	return c
}

// work has the hand compute with what handle does, and returns how it ends.
func (c *changing) work(handle func()) <-chan error {
	dir, ended := c.t.TempDir(), make(chan error, 1)
	go func() {
		ended <- jetstream.Work(c.t.Context(), c.options(c.locked.hand), jetstream.WorkOptions{
			Name: "worker", Slots: 1, Cache: func(fetch func(context.Context, fleet.Digest) (io.ReadCloser, error)) (*fleet.Cache, error) {
				return fleet.OpenCache(fleet.CacheOptions{Dir: dir, Fetch: fetch})
			},
			Handlers: map[fleet.Kind]fleet.Handler{fleet.Score: func(context.Context, fleet.Shard, fleet.Contents) ([]byte, error) {
				handle()
				return []byte("done"), nil
			}},
		})
	}()
	return ended
}

// Promise: users that are taken out of a server that runs are thrown out and told
// why, those who are added come in, quotas count, and the others do not even notice:
// what is under way is computed once.
func TestAdmit(t *testing.T) {
	c := change(t)
	watching, _, _ := c.raw(t, c.locked.watcher)
	rivals, _, _ := c.raw(t, c.locked.rival)
	f, err := jetstream.Dial(t.Context(), c.options(c.locked.boss))
	require.NoError(t, err)
	defer f.Close()
	begun, finish := make(chan struct{}), make(chan struct{})
	ended := c.work(func() { close(begun); <-finish })
	results := make(chan fleet.Result, 1)
	go func() {
		for r := range f.Submit(t.Context(), "job", slices.Values([]fleet.Shard{{Kind: fleet.Score}})) {
			results <- r
		}
	}()
	<-begun

	late := newEnd(t)
	users := []keys.User{c.boss, c.hand, c.rival, {Key: late.public, Role: keys.Watcher, Team: "c"}}
	require.NoError(t, c.Admit(users, []keys.Team{{Name: "b", Connections: 1}}))
	require.Eventually(t, watching.IsClosed, 20*time.Second, time.Millisecond)
	require.ErrorIs(t, watching.LastError(), nats.ErrAuthorization)
	lately, _, _ := c.raw(t, late)
	require.True(t, lately.IsConnected())
	_, err = jetstream.Look(t.Context(), c.options(c.locked.rival)) // the rival is there already
	require.ErrorContains(t, err, "maximum account active connections")

	close(finish)
	r := <-results
	require.NoError(t, r.Err)
	require.Equal(t, 1, r.Deliveries)
	require.True(t, rivals.IsConnected())
	require.Zero(t, rivals.Stats().Reconnects)

	// Nobody but the boss: the worker goes, and says why; so does the boss itself.
	require.NoError(t, c.Admit([]keys.User{c.boss}, nil))
	err = <-ended
	require.ErrorIs(t, err, fault.Of(fault.Fleet, fault.Refused))
	require.ErrorContains(t, err, "does not know this key")
	waiting := make(chan error, 1)
	go func() {
		for _, err := range f.Submit(t.Context(), "another-job", slices.Values([]fleet.Shard{{Kind: fleet.Score}})) {
			waiting <- err
		}
	}()
	require.NoError(t, c.Admit([]keys.User{c.watcher}, nil))
	require.ErrorIs(t, <-waiting, fault.Of(fault.Fleet, fault.Refused))
}

// Promise: what a team has outlives the time in which nobody is in it, and users
// that the server cannot take change nothing.
func TestAdmitKeepsWhatTeamsHave(t *testing.T) {
	c := change(t)
	_, js, _ := c.raw(t, c.locked.rival)
	_, err := js.CreateStream(t.Context(), njs.StreamConfig{Name: "MINE", Subjects: []string{"mine"}})
	require.NoError(t, err)
	_, err = js.Publish(t.Context(), "mine", []byte("kept"))
	require.NoError(t, err)
	require.NoError(t, c.Admit([]keys.User{c.boss}, nil))
	require.NoError(t, c.Admit([]keys.User{c.boss, c.rival}, nil))
	_, js, _ = c.raw(t, c.locked.rival)
	_, err = js.Publish(t.Context(), "mine", []byte("also"))
	require.NoError(t, err)
	stream, err := js.Stream(t.Context(), "MINE")
	require.NoError(t, err)
	require.EqualValues(t, 2, stream.CachedInfo().State.Msgs)

	require.ErrorIs(t, c.Admit(nil, nil), fault.Of(fault.Fleet, fault.Refused))
	require.ErrorIs(t, c.Admit([]keys.User{{Key: "U", Role: keys.Worker}}, nil), fault.Of(fault.Fleet, fault.Invalid))
	again, _, _ := c.raw(t, c.locked.rival)
	require.True(t, again.IsConnected())
}
