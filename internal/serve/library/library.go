// Package library keeps the rewards that tenants upload: bundles by digest,
// with names and aliases that move, on a disk where a kill loses nothing that
// was acknowledged; and the open ones, through a Loader.
package library

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sync"
	"time"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/run"
	"github.com/merit-rl/merit/internal/serve/ready"
)

// Config configures a Library.
type Config struct {
	// Limits is what a tenant may store; nil is no limit. It is asked at each
	// upload, so that it may change.
	Limits func(tenant string) Limits
	// Open bounds the rewards that a tenant has open at one time, 0 means 16,
	// and OpenAll those of all tenants, 0 means 128. Beyond that, the ones that
	// were not used for longest are closed.
	Open, OpenAll int
	// Idle is how long a reward stays open that nobody asks for; 0 means 15
	// minutes.
	Idle time.Duration
	// Loads bounds how many rewards of a tenant are being opened at one time; 0
	// means 2.
	Loads int
}

// again is how long a reward that could not be opened is not tried again.
const again = 5 * time.Second

// What opens rewards: see package ready.
type (
	// Options say how a stored reward is opened.
	Options = ready.Options
	// Loader opens rewards.
	Loader = ready.Loader
	// Reward is an open reward.
	Reward = ready.Reward
)

// Limits are what a tenant may store; 0 is no limit.
type Limits struct {
	Versions int   // names × digests
	Bytes    int64 // of its bundles on the disk: Bundle.Disk
	Files    int   // and folders, likewise
}

// Library is the rewards of all tenants. It is safe for concurrent use.
type Library struct {
	dir    string
	config Config
	loader Loader
	pool   *ready.Pool[Reward]
	unlock func() error

	mu      sync.Mutex
	shelves map[string]*shelf
}

// operator is who owns the rewards that every tenant sees. No tenant can have
// this name.
const operator = "_operator"

var tenantName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// Open opens the library in dir, which it makes if need be, for this process
// alone. Every bundle is held to its digest, and Damaged names those that fail;
// what a killed server has left unfinished is removed. The error is a
// *fault.Error of the boundary Storage.
func Open(dir string, loader Loader, c Config) (*Library, error) {
	if c.Limits == nil {
		c.Limits = func(string) Limits { return Limits{} }
	}
	l := &Library{dir: dir, loader: loader, config: c, shelves: map[string]*shelf{}}
	tenants := filepath.Join(dir, "tenants")
	if err := os.MkdirAll(tenants, 0o700); err != nil {
		return nil, atStart(dir, err)
	}
	var err error
	if l.unlock, err = run.Lock(filepath.Join(dir, "lock"), "another server keeps its rewards in this folder", "stop it, or give this one a folder of its own"); err != nil {
		return nil, atStart(dir, err)
	}
	list, err := os.ReadDir(tenants)
	problems := []error{atStart(tenants, err)}
	for _, d := range list {
		if !d.IsDir() || d.Name() != operator && !tenantName.MatchString(d.Name()) {
			continue // not ours
		}
		s, err := openShelf(filepath.Join(tenants, d.Name()))
		if err != nil {
			problems = append(problems, atStart(filepath.Join(tenants, d.Name()), err))
			continue
		}
		l.shelves[d.Name()] = s
	}
	if err := errors.Join(problems...); err != nil {
		_ = l.unlock()
		return nil, err
	}
	l.pool = ready.NewPool[Reward](ready.Bounds{Each: c.Open, All: c.OpenAll, Idle: c.Idle, Loads: c.Loads, Again: again, Full: fault.Error{
		What: "as many rewards as may be open at one time are in use", Hint: "ask for fewer rewards, functions or parameters at one time",
	}})
	return l, nil
}

// atStart is the error of a folder for the operator, who may know where it is.
func atStart(where string, err error) error {
	if err == nil || fault.As(err) != nil {
		return err
	}
	return &fault.Error{
		Boundary: fault.Storage, Kind: fault.Invalid, Where: where, What: "the server's rewards cannot be kept here", Err: err,
		Hint: "give the server a folder that it may write to",
	}
}

// Close closes what is open and lets other processes have the folder. No lease
// may be held.
func (l *Library) Close(ctx context.Context) {
	l.pool.Close(ctx)
	_ = l.unlock()
}

// shelf is a tenant's, made on first use.
func (l *Library) shelf(tenant string) (*shelf, error) {
	if tenant != operator && !tenantName.MatchString(tenant) {
		return nil, &fault.Error{
			Boundary: fault.Config, Kind: fault.Invalid, Where: "tenant " + quote(tenant), What: "the name is not allowed",
			Hint: "tenants have names of letters, digits, dots, dashes and underlines, at most 64",
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.shelves[tenant]
	if s == nil {
		s = newShelf(filepath.Join(l.dir, "tenants", tenant))
		l.shelves[tenant] = s
	}
	return s, nil
}

// find gives a version that a tenant sees, and where it lies: its own go before
// the operator's.
func (l *Library) find(tenant string, ref Ref) (Version, *shelf, error) {
	own, err := l.shelf(tenant)
	if err != nil {
		return Version{}, nil, err
	}
	v, err := own.get(ref)
	if err == nil {
		return v, own, nil
	}
	if ref.Name != "" && own.has(ref.Name) {
		return Version{}, nil, err
	}
	shared, _ := l.shelf(operator) // the name is good
	v, sharedErr := shared.get(ref)
	switch {
	case sharedErr == nil:
		v.Shared = true
		return v, shared, nil
	case ref.Name != "" && shared.has(ref.Name):
		err = sharedErr
	}
	return Version{}, nil, err
}

// Get finds a version; the error is of the kind Missing.
func (l *Library) Get(tenant string, ref Ref) (Version, error) {
	v, _, err := l.find(tenant, ref)
	return v, err
}

// List gives the versions that a tenant sees: its own and the operator's, by
// name, the oldest first.
func (l *Library) List(tenant string) []Version {
	own, err := l.shelf(tenant)
	if err != nil {
		return []Version{}
	}
	list := own.list()
	shared, _ := l.shelf(operator) // the name is good
	for _, v := range shared.list() {
		if !own.has(v.Name) {
			v.Shared = true
			list = append(list, v)
		}
	}
	slices.SortStableFunc(list, byName)
	return list
}

// Damaged says which bundles failed their digest when the library was opened,
// one error of the kind Corrupt each. They are not run; to upload the same
// again repairs them.
func (l *Library) Damaged() (list []error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for tenant, s := range l.shelves {
		for _, v := range s.list() {
			if v.Damaged {
				list = append(list, damaged(tenant+"/"+v.Name+"@"+v.Digest))
			}
		}
	}
	return list
}

func damaged(where string) error {
	return &fault.Error{
		Boundary: fault.Storage, Kind: fault.Corrupt, Where: where, What: "the stored bytes are not those that were uploaded",
		Hint: "upload the same reward again, which repairs it, and look at the server's disk",
	}
}
