package tenant_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/internal/serve/tenant"
)

// work does a little of everything with a tenant's key.
func work(t *testing.T, who *tenant.Tenant) {
	t.Helper()
	s := tenant.NewScheduler(1)
	require.NoError(t, who.Request())
	who.Received(100)
	for _, e := range []reward.Evaluation{{Outcome: reward.Scored, Fuel: 7}, {Outcome: reward.Scored, Fuel: 5}, {Outcome: reward.Trap, Fuel: 3}} {
		s.Gate(who, fixed(e)).Evaluate(t.Context(), &rl.Trajectory{})
	}
	_, err := who.Admit(1 << 20)
	require.Error(t, err)
	who.Refuse()
}

// done returns the usage after n calls of work.
func done(n uint64, name, key string, from, to time.Time) tenant.Usage {
	return tenant.Usage{
		Tenant: name, Key: key, From: from, To: to, Requests: n, Fuel: 15 * n, Bytes: 100 * n,
		Refused: map[string]uint64{"queue": n, "other": n}, Evaluations: map[reward.Outcome]uint64{reward.Scored: 2 * n, reward.Trap: n},
	}
}

// keyed returns a registry of two tenants, with two keys for one of them.
func keyed(t *testing.T) (path string, keys [3]string, ids [3]string) {
	t.Helper()
	path = write(t, two)
	for i, name := range []string{"search", "search", "ads"} {
		key, stored, err := tenant.AddKey(path, name, noon)
		require.NoError(t, err)
		keys[i], ids[i] = key, stored.ID
	}
	return path, keys, ids
}

// Promise: the accounting file has a line per key and interval with activity. Totals survive a
// restart, and a range of time can be read back.
func TestLedger(t *testing.T) {
	path, keys, ids := keyed(t)
	book := filepath.Join(t.TempDir(), "usage.jsonl")
	synctest.Test(t, func(t *testing.T) {
		start := time.Now().UTC()
		at := func(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }
		for life := range 2 {
			r, err := tenant.Load(path)
			require.NoError(t, err)
			l, err := tenant.OpenLedger(book, r)
			require.NoError(t, err)
			if life == 1 {
				require.Equal(t, byKey([]tenant.Usage{done(3, "search", ids[0], at(0), at(25)), done(1, "search", ids[1], at(20), at(25))}), byKey(r.Usage()))
			}
			who := func(i int) *tenant.Tenant {
				found, err := r.Authenticate(keys[i])
				require.NoError(t, err)
				return found
			}
			if life == 1 {
				work(t, who(2))
				work(t, who(0))
				require.Equal(t, done(4, "search", ids[0], at(0), at(25)), byKey(r.Usage())["search"+ids[0]])
				require.NoError(t, l.Close())
				continue
			}
			work(t, who(0))
			time.Sleep(10 * time.Second)
			require.NoError(t, l.Record())
			time.Sleep(10 * time.Second)
			require.NoError(t, l.Record())
			work(t, who(0))
			work(t, who(1))
			work(t, who(0))
			time.Sleep(5 * time.Second)
			require.NoError(t, l.Close())
		}
		text, err := os.ReadFile(book)
		require.NoError(t, err)
		require.Equal(t, 5, strings.Count(string(text), "\n"))
		for _, c := range []struct {
			from, to time.Time
			want     []tenant.Usage
		}{
			{time.Time{}, time.Time{}, []tenant.Usage{done(1, "ads", ids[2], at(25), at(25)), done(4, "search", ids[0], at(0), at(25)), done(1, "search", ids[1], at(20), at(25))}},
			{time.Time{}, at(10), []tenant.Usage{done(1, "search", ids[0], at(0), at(10))}},
			{at(25), time.Time{}, nil},
		} {
			got, err := tenant.ReadUsage(c.from, c.to, book)
			require.NoError(t, err)
			require.Equal(t, byKey(c.want), byKey(got))
		}
		_, err = tenant.ReadUsage(time.Time{}, time.Time{}, book+"x")
		require.ErrorIs(t, err, fault.Of(fault.Storage, fault.Missing))
	})
}

func byKey(all []tenant.Usage) map[string]tenant.Usage {
	out := map[string]tenant.Usage{}
	for _, u := range all {
		out[u.Tenant+u.Key] = u
	}
	return out
}

// Promise: an accounting file with an incomplete last line is repaired. Damage before whole
// lines is reported with its line and not overwritten.
func TestTornLedger(t *testing.T) {
	testneeds.NotShort(t)
	path, keys, _ := keyed(t)
	book := filepath.Join(t.TempDir(), "usage.jsonl")
	open := func() (*tenant.Registry, *tenant.Ledger, error) {
		r, err := tenant.Load(path)
		require.NoError(t, err)
		l, err := tenant.OpenLedger(book, r)
		return r, l, err
	}
	r, l, err := open()
	require.NoError(t, err)
	for _, key := range keys {
		who, err := r.Authenticate(key)
		require.NoError(t, err)
		work(t, who)
	}
	_, _, err = open()
	require.ErrorIs(t, err, fault.Of(fault.Storage, fault.Refused), "another server keeps it")
	require.NoError(t, l.Close())
	whole, err := os.ReadFile(book)
	require.NoError(t, err)
	lines := bytes.SplitAfter(whole, []byte("\n"))

	for cut := range len(whole) {
		require.NoError(t, os.WriteFile(book, whole[:cut], 0o600))
		r, l, err := open()
		require.NoError(t, err)
		require.Len(t, r.Usage(), bytes.Count(whole[:cut], []byte("\n")))
		require.NoError(t, l.Close())
		left, err := os.ReadFile(book)
		require.NoError(t, err)
		require.Equal(t, string(whole[:bytes.LastIndexByte(whole[:cut], '\n')+1]), string(left))
	}
	zeros := append(bytes.Clone(lines[0]), make([]byte, 5000)...) // a disk's block that was never written
	require.NoError(t, os.WriteFile(book, zeros, 0o600))
	_, l, err = open()
	require.NoError(t, err)
	require.NoError(t, l.Close())

	for name, bad := range map[string]string{"no JSON": "x\n", "empty": "\n", "another key": `{"tenant":"a","fuell":1}` + "\n", "two": `{"tenant":"a"}{"tenant":"a"}` + "\n", "long": strings.Repeat("x", 1<<18) + "\n", "negative": `{"tenant":"a","fuel":-1}` + "\n"} {
		damaged := append(append(bytes.Clone(lines[0]), bad...), lines[1]...)
		require.NoError(t, os.WriteFile(book, damaged, 0o600))
		_, _, err = open()
		require.ErrorIs(t, err, fault.Of(fault.Storage, fault.Corrupt), name)
		require.Equal(t, book+":2", fault.As(err).Where, name)
		left, err := os.ReadFile(book)
		require.NoError(t, err)
		require.Equal(t, damaged, left)
	}
}

// Promise: what cannot be written is written with the next interval, once.
func TestLedgerTriesAgain(t *testing.T) {
	path, keys, ids := keyed(t)
	folder := t.TempDir()
	book := filepath.Join(folder, "usage.jsonl")
	r, err := tenant.Load(path)
	require.NoError(t, err)
	l, err := tenant.OpenLedger(book, r)
	require.NoError(t, err)
	who, err := r.Authenticate(keys[0])
	require.NoError(t, err)
	work(t, who)
	require.NoError(t, os.Rename(book, book+".1"))
	require.NoError(t, os.Mkdir(book, 0o700))
	require.ErrorIs(t, l.Reopen(), fault.Of(fault.Storage, ""))
	work(t, who)
	require.NoError(t, os.Remove(book))
	require.NoError(t, l.Reopen())
	work(t, who)
	require.NoError(t, l.Reopen(), "nothing was moved")
	require.NoError(t, l.Close())

	sum, err := tenant.ReadUsage(time.Time{}, time.Time{}, book, book+".1")
	require.NoError(t, err)
	require.Len(t, sum, 1)
	require.Equal(t, done(3, "search", ids[0], sum[0].From, sum[0].To), sum[0])
	after, err := tenant.Load(path)
	require.NoError(t, err)
	l, err = tenant.OpenLedger(book, after)
	require.NoError(t, err)
	require.Equal(t, done(3, "search", ids[0], after.Usage()[0].From, after.Usage()[0].To), after.Usage()[0], "the totals survive the rotation")
	require.NoError(t, l.Close())
}

// Promise: a server records usage by itself, including that of its last moments.
// too.
func TestLedgerKeeps(t *testing.T) {
	path, keys, _ := keyed(t)
	book := filepath.Join(t.TempDir(), "usage.jsonl")
	synctest.Test(t, func(t *testing.T) {
		r, err := tenant.Load(path)
		require.NoError(t, err)
		l, err := tenant.OpenLedger(book, r)
		require.NoError(t, err)
		who, err := r.Authenticate(keys[0])
		require.NoError(t, err)
		ended := make(chan struct{})
		ctx, stop := context.WithCancel(t.Context())
		go func() {
			defer close(ended)
			l.Keep(ctx, time.Minute, func(err error) { t.Error(err) })
		}()
		for range 3 {
			work(t, who)
			time.Sleep(61 * time.Second)
		}
		work(t, who)
		stop()
		<-ended
		require.NoError(t, l.Close())
		text, err := os.ReadFile(book)
		require.NoError(t, err)
		require.Equal(t, 4, bytes.Count(text, []byte("\n")))
	})
}

// Promise: no accounting line, however damaged, crashes the program or is read as another one.
func FuzzLedger(f *testing.F) {
	line, err := json.Marshal(done(3, "search", "key_0", noon, noon))
	require.NoError(f, err)
	f.Add(append(line, '\n'))
	f.Add([]byte("{\"tenant\":\"a\",\"carried\":true}\n{}\n"))
	f.Add([]byte("\x00\x00\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		path := filepath.Join(t.TempDir(), "usage.jsonl")
		require.NoError(t, os.WriteFile(path, text, 0o600))
		r := tenant.Local(tenant.Limits{})
		l, err := tenant.OpenLedger(path, r)
		if err != nil {
			require.NotNil(t, fault.As(err))
			return
		}
		before := r.Usage()
		require.NoError(t, l.Close())
		again := tenant.Local(tenant.Limits{})
		l, err = tenant.OpenLedger(path, again)
		require.NoError(t, err)
		require.NoError(t, l.Close())
		require.Equal(t, before, again.Usage())
	})
}
