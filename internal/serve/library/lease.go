package library

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/serve/ready"
)

// Lease is an open reward in use.
type Lease struct {
	Reward  Reward
	Version Version
	release func()
}

// Release gives it back; a second call does nothing.
func (l *Lease) Release() { l.release() }

// Acquire opens a version, or takes it if it is open. The caller releases it;
// until then it works, whatever becomes of the version. A request that names
// neither a function nor parameters nor a batch gets those of the version. What could not
// be opened is not tried again for a few seconds. Errors: Missing, Corrupt (its
// bytes fail their digest: it is not run), Exhausted with Retry (as many are in
// use as may be open), and those of the Loader.
func (l *Library) Acquire(ctx context.Context, tenant string, ref Ref, o Options) (*Lease, error) {
	v, s, err := l.find(tenant, ref)
	if err != nil {
		return nil, err
	}
	if o.Function == "" && o.With == nil && o.Batch == "" {
		o.Function, o.With, o.Batch = v.Function, v.With, v.Batch
	}
	k, err := keyOf(tenant, v.Digest, &o)
	if err != nil {
		return nil, err
	}
	taken, err := l.pool.Take(ctx, k, func(ctx context.Context) (Reward, error) {
		if err := s.verify(v); err != nil {
			if !s.knows(v) {
				return nil, s.gone(ref)
			}
			return nil, err
		}
		dir := s.blob(v.Digest)
		r, err := l.loader.Load(ctx, tenant, entryPath(dir, v.Kind, v.Entry, v.Files), o)
		if err != nil {
			return nil, without(err, dir)
		}
		return r, nil
	})
	if err != nil {
		return nil, err
	}
	return &Lease{taken.Value, v, sync.OnceFunc(func() { l.pool.Release(taken) })}, nil
}

// What a client says of how a reward is opened is kept for as long as it is
// open, or an error is remembered, so it is bounded here.
const (
	mostFunction = 256      // bytes of a name
	mostWith     = 64 << 10 // bytes of parameters
	mostBatch    = 16       // bytes of a batch: "group" or a number
)

// keyOf says which requests share an open reward, and writes their parameters
// in one way.
func keyOf(tenant, digest string, o *Options) (ready.Key, error) {
	with, err := compact(o.With)
	if len(o.Function) > mostFunction {
		err = errors.Join(err, &fault.Error{
			Boundary: fault.Data, Kind: fault.Invalid, Where: "function", What: fmt.Sprintf("the name has %d bytes, and may have %d", len(o.Function), mostFunction),
			Hint: "name a function of the script",
		})
	}
	if len(o.Batch) > mostBatch {
		err = errors.Join(err, &fault.Error{
			Boundary: fault.Data, Kind: fault.Invalid, Where: "batch", What: fmt.Sprintf("%.16q… is neither group nor a number", o.Batch),
			Hint: "write group, or how many trajectories one call scores",
		})
	}
	if err != nil {
		return ready.Key{}, err
	}
	o.With = with
	return ready.Key{Tenant: tenant, Digest: digest, Options: fmt.Sprintf("%q %s %q %d %d %d", o.Function, with, o.Batch, o.Fuel, o.MemoryMiB, o.WallClock)}, nil
}

// compact is parameters without spaces; they are a JSON object or nothing.
func compact(with json.RawMessage) (json.RawMessage, error) {
	if with == nil {
		return nil, nil
	}
	var b bytes.Buffer
	if len(with) > mostWith {
		return nil, &fault.Error{
			Boundary: fault.Data, Kind: fault.Invalid, Where: "with", What: fmt.Sprintf("the parameters have %d bytes, and may have %d", len(with), mostWith),
			Hint: "put what is large into a file of the reward",
		}
	}
	if err := json.Compact(&b, with); err != nil || b.Len() == 0 || b.Bytes()[0] != '{' {
		return nil, &fault.Error{
			Boundary: fault.Data, Kind: fault.Invalid, Where: "with", What: "the parameters are no JSON object", Err: err,
			Hint: `write them as {"name": value}`,
		}
	}
	return b.Bytes(), nil
}

// knows reports whether v is still there.
func (s *shelf) knows(v Version) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stores(v.Digest)
}

// gone is the error of what was there a moment ago.
func (s *shelf) gone(ref Ref) error {
	return &fault.Error{Boundary: fault.Data, Kind: fault.Missing, Where: "reward " + ref.String(), What: "it was deleted meanwhile", Hint: "upload it again"}
}
