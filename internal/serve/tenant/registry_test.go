package tenant_test

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/internal/serve/tenant"
)

var noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// write creates a tenants file in a new folder.
func write(t *testing.T, text string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "tenants.yaml")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

const two = `# The teams of the third floor.
tenants:
  - name: search # asks at night
    limits: {fuel_per_second: 2000000000, queue: 10}
  - name: ads
`

// Promise: a key identifies its tenant with its limits, a tenant may have several keys, and
// what is stored on disk cannot be used as a key.
func TestKeys(t *testing.T) {
	path := write(t, two)
	first, stored, err := tenant.AddKey(path, "search", noon)
	require.NoError(t, err)
	require.Regexp(t, `^merit_[a-z2-7]{52}$`, first)
	hash := sha256.Sum256([]byte(first))
	require.Equal(t, tenant.Key{ID: "key_" + hex.EncodeToString(hash[:6]), Tenant: "search", Created: "2026-11-22T12:00:00Z", SHA256: hex.EncodeToString(hash[:])}, stored)
	second, _, err := tenant.AddKey(path, "search", noon)
	require.NoError(t, err)
	third, _, err := tenant.AddKey(path, "ads", noon)
	require.NoError(t, err)

	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, two, string(text), "what people wrote stays")
	text, err = os.ReadFile(tenant.KeysPath(path))
	require.NoError(t, err)
	info, err := os.Stat(tenant.KeysPath(path))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode())
	for _, key := range []string{first, second, third} {
		require.NotContains(t, string(text), strings.TrimPrefix(key, "merit_"))
	}

	r, err := tenant.Load(path)
	require.NoError(t, err)
	for key, name := range map[string]string{first: "search", second: "search", third: "ads"} {
		who, err := r.Authenticate(key)
		require.NoError(t, err)
		require.Equal(t, name, who.Name)
	}
	who, _ := r.Authenticate(first)
	require.Equal(t, stored.ID, who.Key)
	require.Equal(t, tenant.Limits{FuelPerSecond: 2e9, Queue: 10, Weight: 1, Rewards: 1000, StoredMiB: 1024, StoredFiles: 20_000}, who.Limits)
	for _, key := range []string{stored.SHA256, stored.ID, "x", strings.ToUpper(first), first + " ", strings.Repeat("x", 1<<20)} {
		_, err = r.Authenticate(key)
		require.ErrorIs(t, err, fault.Of(fault.Server, fault.Refused))
		require.NotContains(t, err.Error(), key, "a key is not repeated: errors are logged")
	}
	_, err = r.Authenticate("")
	require.ErrorIs(t, err, fault.Of(fault.Server, fault.Missing))
	require.Contains(t, fault.As(err).Hint, "Authorization: Bearer")

	was, err := tenant.RevokeKey(path, stored.ID)
	require.NoError(t, err)
	require.Equal(t, stored, was)
	_, err = r.Authenticate(first)
	require.NoError(t, err, "until the reload")
	require.NoError(t, r.Reload())
	_, err = r.Authenticate(first)
	require.ErrorIs(t, err, fault.Of(fault.Server, fault.Refused))
	_, err = r.Authenticate(second)
	require.NoError(t, err)
	left, err := tenant.Keys(path)
	require.NoError(t, err)
	require.Len(t, left, 2)
}

// Promise: concurrent edits of the keys lose none.
func TestKeysAreEditedOneAfterAnother(t *testing.T) {
	path := write(t, two)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			_, k, err := tenant.AddKey(path, "ads", noon)
			if err == nil {
				_, _, err = tenant.AddKey(path, "search", noon)
			}
			if err == nil {
				_, err = tenant.RevokeKey(path, k.ID)
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	left, err := tenant.Keys(path)
	require.NoError(t, err)
	require.Len(t, left, 8)
	for _, k := range left {
		require.Equal(t, "search", k.Tenant)
	}
}

// Promise: a key for an unknown tenant, or the revocation of an unknown key, is an error that
// names what exists.
func TestKeysOfNobody(t *testing.T) {
	path := write(t, two)
	_, _, err := tenant.AddKey(path, "serch", noon)
	require.ErrorIs(t, err, fault.Of(fault.Config, fault.Missing))
	require.Equal(t, `did you mean "search"?`, fault.As(err).Hint)
	_, _, err = tenant.AddKey(path, "finance", noon)
	require.Equal(t, "choose one of search, ads", fault.As(err).Hint)
	_, err = tenant.RevokeKey(path, "key_0")
	require.ErrorIs(t, err, fault.Of(fault.Config, fault.Missing))
	_, err = tenant.RevokeKey(filepath.Join(t.TempDir(), "none.yaml"), "key_0")
	require.ErrorIs(t, err, fault.Of(fault.Storage, ""))
	_, _, err = tenant.AddKey(filepath.Join(t.TempDir(), "none.yaml"), "a", noon)
	require.ErrorIs(t, err, fault.Of(fault.Config, fault.Missing))
}

// Promise: every problem of both files is reported at once, with its line.
func TestProblemsOfTheFiles(t *testing.T) {
	path := write(t, `tenants:
  - name: search
    limits:
      queue: -1
      fuel_per_second: -3
      weight: .inf
  - name: search
  - name: Ad Team
    limts: {}
  - limits: {concurrency: 1.5, requests_per_second: .nan}
`)
	err := problems(t, path, "")
	require.Equal(t, []string{
		`tenants.yaml:4: tenants[0].limits.queue: -1 is not allowed`,
		`tenants.yaml:5: tenants[0].limits.fuel_per_second: must be a whole number that is not negative, not -3`,
		`tenants.yaml:6: tenants[0].limits.weight: must be a finite number, not .inf`,
		`tenants.yaml:7: tenants[1].name: "search" is also the name of tenants[0]`,
		`tenants.yaml:8: tenants[2].name: "Ad Team" is not a valid tenant name`,
		`tenants.yaml:9: tenants[2].limts: unknown key`,
		`tenants.yaml:10: tenants[3].limits.concurrency: must be a whole number, not 1.5`,
		`tenants.yaml:10: tenants[3].limits.requests_per_second: must be a finite number, not .nan`,
		`tenants.yaml:10: tenants[3]: the tenant has no name`,
	}, err)

	_, id, hash := tenant.NewKey()
	_, id2, hash2 := tenant.NewKey()
	keys := `keys:
  - {id: ` + id + `, tenant: ads, created: 2026-11-22T12:00:00Z, sha256: ` + hash + `}
  - id: ` + id + `
    tenant: search
    created: yesterday
    sha256: ` + hash + `
  - {id: ` + id2 + `, tenant: search, created: 2026-11-22T12:00:00Z, sha256: ` + hash2[:63] + `}
  - {id: key_0, tenant: search, created: 2026-11-22T12:00:00Z, sha256: ` + hash2 + `}
`
	require.Equal(t, []string{
		`tenants.keys.yaml:5: keys[1].created: "yesterday" is not a time`,
		`tenants.keys.yaml:6: keys[1].sha256: the key appears twice; it already belongs to tenant ads`,
		`tenants.keys.yaml:7: keys[2].sha256: is not a SHA-256 hash`,
		`tenants.keys.yaml:8: keys[3].id: "key_0" is not the id of this key`,
	}, problems(t, write(t, two), keys))
	require.Equal(t, []string{`tenants.keys.yaml:2: keys[0].tenant: no tenant is named "sales"`},
		problems(t, write(t, two), "keys:\n  - {id: "+id+", tenant: sales, created: 2026-11-22T12:00:00Z, sha256: "+hash+"}\n"))
	require.Equal(t, []string{`tenants.yaml: tenants: no tenant is listed`}, problems(t, write(t, ""), ""))
}

func problems(t *testing.T, path, keys string) (all []string) {
	t.Helper()
	if keys != "" {
		require.NoError(t, os.WriteFile(tenant.KeysPath(path), []byte(keys), 0o600))
	}
	_, err := tenant.Load(path)
	require.Error(t, err)
	for _, line := range strings.Split(err.Error(), "\n") {
		all = append(all, strings.TrimPrefix(line, filepath.Dir(path)+"/"))
	}
	for _, e := range err.(interface{ Unwrap() []error }).Unwrap() {
		var joined interface{ Unwrap() []error }
		if !errors.As(e, &joined) {
			require.NotEmpty(t, fault.As(e).Hint, e.Error())
		}
	}
	return all
}

// Promise: a reload applies completely or not at all, and keeps a tenant's debts and running
// requests.
func TestReload(t *testing.T) {
	path := write(t, two)
	key, _, err := tenant.AddKey(path, "search", noon)
	require.NoError(t, err)
	r, err := tenant.Load(path)
	require.NoError(t, err)
	before, err := r.Authenticate(key)
	require.NoError(t, err)
	release, err := before.Admit(8)
	require.NoError(t, err)

	require.NoError(t, os.WriteFile(path, []byte("tenants: [{name: search, limits: {queue: 5}}, {name: search}]"), 0o600))
	require.ErrorIs(t, r.Reload(), fault.Of(fault.Config, fault.Invalid))
	same, err := r.Authenticate(key)
	require.NoError(t, err)
	require.Same(t, before, same)

	require.NoError(t, os.WriteFile(path, []byte("tenants: [{name: search, limits: {queue: 9}}, {name: new}]"), 0o600))
	require.NoError(t, r.Reload())
	after, err := r.Authenticate(key)
	require.NoError(t, err)
	require.Equal(t, 9, after.Limits.Queue)
	_, err = after.Admit(2)
	var busy *tenant.Busy
	require.ErrorAs(t, err, &busy, "8 are under way still")
	release()
	_, err = after.Admit(9)
	require.NoError(t, err)
	_, there := r.Get("ads")
	require.False(t, there)
	require.Len(t, r.Tenants(), 2)
}

// Promise: a local server needs no key.
func TestLocal(t *testing.T) {
	r := tenant.Local(tenant.Limits{Concurrency: 3})
	for _, key := range []string{"", "anything"} {
		who, err := r.Authenticate(key)
		require.NoError(t, err)
		require.Equal(t, "local", who.Name)
		require.Equal(t, 3, who.Limits.Concurrency)
	}
	require.NoError(t, r.Reload())
	require.Len(t, r.Tenants(), 1)
}

// Promise: no tenants file and no key file crashes the program, however damaged, and those that
// are accepted give usable tenants.
func FuzzFiles(f *testing.F) {
	_, id, hash := tenant.NewKey()
	f.Add(two, "keys:\n  - {id: "+id+", tenant: ads, created: 2026-11-22T12:00:00Z, sha256: "+hash+"}\n")
	f.Add("tenants: [{name: a, limits: {weight: 1e-9, queue: 3}}]", "keys: []")
	f.Add("tenants: {a: b}", "keys: [[]]")
	f.Add("- x", "{")
	f.Fuzz(func(t *testing.T, tenants, keys string) {
		path := write(t, tenants)
		require.NoError(t, os.WriteFile(tenant.KeysPath(path), []byte(keys), 0o600))
		r, err := tenant.Load(path)
		if err != nil {
			require.NotNil(t, fault.As(err))
			return
		}
		require.NotEmpty(t, r.Tenants())
		for _, who := range r.Tenants() {
			require.Positive(t, who.Limits.Weight)
			require.Positive(t, who.Limits.Queue)
			_, err = who.Admit(1)
			require.NoError(t, err)
		}
	})
}

// Promise: the tenants file in the serving guide is valid.
func TestTheFileOfThePage(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(testneeds.Root(), "docs", "serving-tenants.md"))
	require.NoError(t, err)
	_, text, found := strings.Cut(string(page), "# tenants.yaml\n")
	require.True(t, found)
	text, _, _ = strings.Cut(text, "```")
	r, err := tenant.Load(write(t, text))
	require.NoError(t, err)
	search, there := r.Get("search")
	require.True(t, there)
	require.EqualValues(t, 4e9, search.Limits.FuelPerSecond)
}
