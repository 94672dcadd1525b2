package tenant

import (
	"slices"
	"sync"
	"sync/atomic"

	"golang.org/x/time/rate"

	"github.com/merit-rl/merit/core/fault"
)

// Registry holds the tenants and their keys. It is safe for concurrent use.
type Registry struct {
	path string // empty for Local
	now  atomic.Pointer[state]

	mu       sync.Mutex
	accounts map[string]*account  // by name; tenants removed from the file stay
	meters   map[[2]string]*meter // by tenant and key
	past     map[[2]string]Usage  // counts of earlier processes
}

// state is what a registry knows until it is reloaded.
type state struct {
	list  []*Tenant // one entry per tenant, without a key
	byKey map[sum]*Tenant
	open  *Tenant // the tenant that needs no key; nil if all need one
}

func newRegistry(path string) *Registry {
	return &Registry{path: path, accounts: map[string]*account{}, meters: map[[2]string]*meter{}, past: map[[2]string]Usage{}}
}

// Load reads the tenants file at path and the key file next to it. The error joins every
// problem of both, each a *fault.Error with its line.
func Load(path string) (*Registry, error) {
	r := newRegistry(path)
	if err := r.Reload(); err != nil {
		return nil, err
	}
	return r, nil
}

// Local returns a registry with one tenant, "local", that needs no key.
func Local(l Limits) *Registry {
	r := newRegistry("")
	r.mu.Lock()
	defer r.mu.Unlock()
	t := r.tenant("local", "", l)
	r.now.Store(&state{list: []*Tenant{t}, open: t})
	return r
}

// Reload rereads the files. On an error everything stays unchanged. Running requests keep their
// limits, and the debts of a tenant stay.
func (r *Registry) Reload() error {
	if r.path == "" {
		return nil
	}
	entries, keys, err := readFiles(r.path)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	next, limits := &state{byKey: map[sum]*Tenant{}}, map[string]Limits{}
	for _, e := range entries {
		limits[e.Name] = e.Limits
		next.list = append(next.list, r.tenant(e.Name, "", e.Limits))
	}
	for s, k := range keys {
		next.byKey[s] = r.tenant(k.Tenant, k.ID, limits[k.Tenant])
	}
	r.now.Store(next)
	return nil
}

// How many requests of a tenant are refused at full speed before its client is slowed down.
const (
	refusalsPerSecond = 10
	refusalsAtOnce    = 50
)

// tenant returns the tenant for a key, with the account of its name.
func (r *Registry) tenant(name, key string, l Limits) *Tenant {
	l = l.orDefaults()
	a := r.accounts[name]
	if a == nil {
		a = &account{name: name, refusals: *rate.NewLimiter(refusalsPerSecond, refusalsAtOnce)}
		r.accounts[name] = a
	}
	a.set(l)
	id := [2]string{name, key}
	m := r.meters[id]
	if m == nil {
		m = &meter{tenant: name, key: key}
		r.meters[id] = m
	}
	return &Tenant{Name: name, Key: key, Limits: l, account: a, meter: m}
}

// Tenants returns the tenants in file order, without their keys.
func (r *Registry) Tenants() []*Tenant { return slices.Clone(r.now.Load().list) }

// Get returns the tenant with a name, without a key.
func (r *Registry) Get(name string) (*Tenant, bool) {
	for _, t := range r.now.Load().list {
		if t.Name == name {
			return t, true
		}
	}
	return nil, false
}

// Authenticate returns the tenant of a key. The error is a *fault.Error, of the kind
// fault.Missing without a key and fault.Refused for an unknown key.
func (r *Registry) Authenticate(key string) (*Tenant, error) {
	s := r.now.Load()
	if s.open != nil {
		return s.open, nil
	}
	if key == "" {
		return nil, refused(fault.Missing, "authorization", "the request has no key", "send the header Authorization: Bearer KEY, or X-Api-Key: KEY")
	}
	if len(key) <= maxKey {
		if t, ok := s.byKey[sumOf(key)]; ok {
			return t, nil
		}
	}
	return nil, refused(fault.Refused, "authorization", "the key is unknown", "check that it is complete; it may have been revoked or belong to another server")
}

// Usage returns the usage of each key since the registry was created and, with a ledger,
// before, sorted by tenant and key.
func (r *Registry) Usage() []Usage {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := newTally()
	for _, u := range r.past {
		all.add(u)
	}
	for _, m := range r.meters {
		all.add(m.usage())
	}
	return all.sorted()
}

// counted returns what this process has counted, by tenant and key.
func (r *Registry) counted() map[[2]string]Usage {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := map[[2]string]Usage{}
	for id, m := range r.meters {
		all[id] = m.usage()
	}
	return all
}
