package fleet_test

import (
	"context"
	"crypto/x509"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/internal/fleet"
	"github.com/merit-rl/merit/internal/fleet/natsd"
	"github.com/merit-rl/merit/internal/fleet/queue"
	"github.com/merit-rl/merit/internal/httpd/certificates"
	"github.com/merit-rl/merit/internal/httpd/certtest"
	"github.com/merit-rl/merit/sdk/merit"
)

// guest makes a key in a file and adds a line for it to users.
func guest(t *testing.T, users, role string) (key, public string) {
	t.Helper()
	seed, public, err := natsd.NewKey()
	require.NoError(t, err)
	key = filepath.Join(t.TempDir(), role+".key")
	require.NoError(t, natsd.WriteSeed(key, seed))
	require.NoError(t, natsd.AddUser(users, public+" "+role+" lab"))
	return key, public
}

// look connects to a server and returns the names of its workers.
func look(t *testing.T, url, key, ca string) ([]queue.Worker, error) {
	t.Helper()
	o := queue.Options{URL: url, Name: "looks"}
	var err error
	o.Seed, o.TLS, err = fleet.Credentials(fleet.Config{Key: key, CA: ca}, os.Getenv)
	require.NoError(t, err)
	a, err := queue.Look(t.Context(), o)
	if err != nil {
		return nil, err
	}
	defer a.Close()
	s, err := a.Status(t.Context())
	require.NoError(t, err)
	return s.Workers, nil
}

// Promise: an embedded server with a certificate and a users file accepts the listed users over
// TLS, in their roles, and nobody else. Workers of this machine reach it whatever names its
// certificate has. Together they play the run.
func TestEmbeddedForOtherMachines(t *testing.T) {
	testneeds.Slow(t, "opens a fleet to other machines")
	t.Setenv("TMPDIR", t.TempDir())
	cert, key := certtest.WriteAs(t, t.TempDir(), func(c *x509.Certificate) { c.DNSNames = nil })
	users := filepath.Join(t.TempDir(), "users")
	hand, public := guest(t, users, "worker")
	eyes, _ := guest(t, users, "watcher")
	cfg := config(t, sokoban, "fleet.groups=1", "fleet.verify=1", "fleet.users="+users, "fleet.cert="+cert, "fleet.cert_key="+key)
	plain, err := play(t.Context(), t, open(t, cfg), nil, merit.TrainOptions{})
	require.NoError(t, err)
	var join fleet.JoinInfo
	f, err := fleet.Open(t.Context(), fleet.Embedded, cfg, fleet.OpenOptions{Workers: 1, OnReady: func(j fleet.JoinInfo) { join = j }})
	require.NoError(t, err)
	require.Equal(t, cert, join.Certificate)
	require.Regexp(t, `^nats://127\.0\.0\.1:`, join.URL)
	require.Regexp(t, `^tls://127\.0\.0\.1:`, join.Beyond)

	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- fleet.Work(ctx, fleet.WorkOptions{Join: join.Beyond, Name: "elsewhere", Slots: 1, Access: fleet.Config{Key: hand, CA: cert}})
	}()
	require.Eventually(t, func() bool {
		here, err := look(t, join.URL, join.Watch, "")
		require.NoError(t, err)
		return len(here) == 2
	}, time.Minute, 10*time.Millisecond)
	there, err := look(t, join.Beyond, eyes, cert)
	require.NoError(t, err)
	require.Len(t, there, 2)
	got, err := play(t.Context(), t, open(t, cfg), f, merit.TrainOptions{})
	require.NoError(t, err)
	require.Equal(t, plain, got)
	require.Positive(t, f.Report().Checked)
	require.Eventually(t, func() bool { // workers say how they are every few seconds
		there, err = look(t, join.Beyond, eyes, cert)
		require.NoError(t, err)
		return len(there) == 2 && there[0].Done > 0 && there[1].Done > 0
	}, time.Minute, 100*time.Millisecond)
	for _, w := range there {
		require.Equal(t, w.Name == "elsewhere", w.Key == public)
	}

	// From now on, users in the file are accepted, and no others.
	other := filepath.Join(t.TempDir(), "other")
	stranger, line := guest(t, other, "watcher")
	_, err = look(t, join.Beyond, stranger, cert)
	require.ErrorIs(t, err, fault.Of(fault.Fleet, fault.Refused))
	require.NoError(t, natsd.AddUser(users, line+" watcher lab"))
	require.Eventually(t, func() bool { _, err := look(t, join.Beyond, stranger, cert); return err == nil }, time.Minute, 10*time.Millisecond)
	stop()
	require.NoError(t, <-ended)
	require.NoError(t, f.Close())
}

// Promise: an embedded server listens to other machines only with a certificate and a users
// file, reports everything missing at once, and has one team.
func TestEmbeddedLocks(t *testing.T) {
	testneeds.NotShort(t)
	users := filepath.Join(t.TempDir(), "users")
	guest(t, users, "worker")
	for _, c := range []struct {
		overrides []string
		what      []string
	}{
		{nil, []string{"needs a list of accepted keys", "no certificate is given"}},
		{[]string{"fleet.users=" + users}, []string{"no certificate is given"}},
	} {
		_, err := fleet.Open(t.Context(), fleet.Embedded, config(t, sokoban, append(c.overrides, "fleet.listen=0.0.0.0:0")...), fleet.OpenOptions{})
		require.ErrorIs(t, err, fault.Of(fault.Fleet, fault.Refused))
		for _, what := range c.what {
			require.ErrorContains(t, err, what)
		}
	}
	_, public, err := natsd.NewKey()
	require.NoError(t, err)
	require.NoError(t, natsd.AddUser(users, public+" worker another"))
	_, err = fleet.Open(t.Context(), fleet.Embedded, config(t, sokoban, "fleet.users="+users), fleet.OpenOptions{})
	require.ErrorContains(t, err, "the file names the teams lab and another")
}

// Promise: if a server listens on all addresses, its address for other machines is a name in
// its certificate.
func TestBeyond(t *testing.T) {
	testneeds.NotShort(t)
	at := func(change func(*x509.Certificate)) *certificates.Certificates {
		cert, key := certtest.WriteAs(t, t.TempDir(), change)
		c, err := certificates.Open(certificates.Files{Cert: cert, Key: key})
		require.NoError(t, err)
		return c
	}
	local := at(func(*x509.Certificate) {})
	name := at(func(c *x509.Certificate) { c.DNSNames = []string{"localhost", "*.example", "trainer.example"} })
	ip := at(func(c *x509.Certificate) { c.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1), net.IPv4(10, 0, 0, 5)} })
	require.Equal(t, "tls://0.0.0.0:4222", fleet.Beyond("tls://0.0.0.0:4222", local.Config()))
	require.Equal(t, "tls://trainer.example:4222", fleet.Beyond("tls://0.0.0.0:4222", name.Config()))
	require.Equal(t, "tls://10.0.0.5:4222", fleet.Beyond("tls://[::]:4222", ip.Config()))
	require.Equal(t, "tls://127.0.0.1:4222", fleet.Beyond("tls://127.0.0.1:4222", name.Config()))
}
