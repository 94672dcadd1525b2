package natsd_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"
	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/internal/fleet/natsd"
	"github.com/merit-rl/merit/internal/fleet/queue"
)

// Promise: an external NATS server whose configuration includes the accounts lets the same keys
// do the same things.
func TestAccountsOfAnotherServer(t *testing.T) {
	testneeds.NotShort(t)
	boss, hand, dir := newEnd(t), newEnd(t), t.TempDir()
	text, err := natsd.Accounts(
		[]natsd.User{{Key: boss.public, Role: natsd.Coordinator, Team: "a"}, {Key: hand.public, Role: natsd.Worker, Team: "a"}},
		[]natsd.Team{{Name: "a", Storage: 25 << 30, Connections: 3}},
	)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "accounts.json"), text, 0o600))
	path := filepath.Join(dir, "nats.conf")
	require.NoError(t, os.WriteFile(path, fmt.Appendf(nil, "listen: \"127.0.0.1:-1\"\njetstream { store_dir: %q, max_memory_store: 200MB, max_file_store: 30GB }\ninclude accounts.json\n", dir), 0o600))
	opts, err := server.ProcessConfigFile(path)
	require.NoError(t, err)
	opts.NoSigs, opts.NoLog = true, true
	s, err := server.NewServer(opts)
	require.NoError(t, err)
	go s.Start()
	defer func() { s.Shutdown(); s.WaitForShutdown() }()
	require.True(t, s.ReadyForConnections(time.Minute))

	f, err := queue.Dial(t.Context(), queue.Options{URL: s.ClientURL(), Seed: boss.seed, Name: "test", Build: "b", Patience: time.Minute})
	require.NoError(t, err)
	defer f.Close()
	pair, err := nkeys.FromSeed(hand.seed)
	require.NoError(t, err)
	hurt := make(chan error, 16)
	nc, err := nats.Connect(s.ClientURL(), nats.Nkey(hand.public, pair.Sign), nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { hurt <- err }))
	require.NoError(t, err)
	defer nc.Close()
	require.NoError(t, nc.Publish("merit.work.b.any.score.job.0.key", nil))
	select {
	case said := <-hurt:
		require.ErrorIs(t, said, nats.ErrPermissionViolation)
	case <-time.After(time.Minute):
		require.Fail(t, "a worker submits work")
	}
	_, err = nats.Connect(s.ClientURL())
	require.ErrorIs(t, err, nats.ErrAuthorization)
}
