package tenant

import (
	"cmp"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/merit-rl/merit/core/reward"
)

// Usage is the usage of one key of a tenant between two times.
type Usage struct {
	Tenant      string                    `json:"tenant"`
	Key         string                    `json:"key,omitempty"` // id of the key; empty for a tenant without keys
	From        time.Time                 `json:"from"`
	To          time.Time                 `json:"to"`
	Requests    uint64                    `json:"requests"`              // includes refused requests
	Refused     map[string]uint64         `json:"refused,omitempty"`     // by the limit that was exceeded, or "other"
	Evaluations map[reward.Outcome]uint64 `json:"evaluations,omitempty"` // by outcome
	Fuel        uint64                    `json:"fuel"`
	Bytes       uint64                    `json:"bytes"` // of request bodies, before decompression
}

// empty reports whether all counts are zero.
func (u Usage) empty() bool {
	return u.Requests == 0 && len(u.Refused) == 0 && len(u.Evaluations) == 0 && u.Fuel == 0 && u.Bytes == 0
}

// add adds the counts of v and extends the interval to include v's.
func (u *Usage) add(v Usage) {
	if u.From.IsZero() || !v.From.IsZero() && v.From.Before(u.From) {
		u.From = v.From
	}
	if v.To.After(u.To) {
		u.To = v.To
	}
	u.Requests += v.Requests
	u.Fuel += v.Fuel
	u.Bytes += v.Bytes
	u.Refused = sums(u.Refused, v.Refused)
	u.Evaluations = sums(u.Evaluations, v.Evaluations)
}

// sums returns a + b by key, without zeros; nil if nothing is left.
func sums[K comparable](a, b map[K]uint64) map[K]uint64 {
	out := map[K]uint64{}
	for _, m := range []map[K]uint64{a, b} {
		for k, n := range m {
			out[k] += n
		}
	}
	maps.DeleteFunc(out, func(_ K, n uint64) bool { return n == 0 })
	if len(out) == 0 {
		return nil
	}
	return out
}

// since returns u minus before, an earlier state of u.
func (u Usage) since(before Usage) Usage {
	u.Requests -= before.Requests
	u.Fuel -= before.Fuel
	u.Bytes -= before.Bytes
	u.Refused = sums(u.Refused, negative(before.Refused))
	u.Evaluations = sums(u.Evaluations, negative(before.Evaluations))
	return u
}

// negative turns sums into a subtraction, modulo 2^64.
func negative[K comparable](m map[K]uint64) map[K]uint64 {
	out := make(map[K]uint64, len(m))
	for k, n := range m {
		out[k] = -n
	}
	return out
}

// reasons are the reasons for which a request may be refused.
var reasons = [...]string{byRequests, byFuel, byQueue, byMemory, byUnderWay, byOther}

// byOther stands for all other reasons.
const byOther = "other"

// meter counts the usage of one key. It is safe for concurrent use.
type meter struct {
	tenant, key string

	requests, fuel, bytes atomic.Uint64
	refused               [len(reasons)]atomic.Uint64
	evaluations           [16]atomic.Uint64 // in the order of reward.Outcomes
}

func (m *meter) request() { m.requests.Add(1) }

func (m *meter) refuse(reason string) {
	for i, r := range reasons {
		if r == reason || i == len(reasons)-1 {
			m.refused[i].Add(1)
			return
		}
	}
}

// evaluation counts an evaluation.
func (m *meter) evaluation(e *reward.Evaluation) {
	m.fuel.Add(e.Fuel)
	for i, o := range reward.Outcomes {
		if o == e.Outcome {
			m.evaluations[i].Add(1)
			return
		}
	}
}

// usage returns the counts.
func (m *meter) usage() Usage {
	u := Usage{Tenant: m.tenant, Key: m.key, Requests: m.requests.Load(), Fuel: m.fuel.Load(), Bytes: m.bytes.Load()}
	refused, evaluations := map[string]uint64{}, map[reward.Outcome]uint64{}
	for i, r := range reasons {
		refused[r] = m.refused[i].Load()
	}
	for i, o := range reward.Outcomes {
		evaluations[o] = m.evaluations[i].Load()
	}
	u.Refused, u.Evaluations = sums(refused, nil), sums(evaluations, nil)
	return u
}

// Received counts bytes of a request's body and charges for decoding them.
func (t *Tenant) Received(bytes int64) {
	t.meter.bytes.Add(uint64(max(bytes, 0)))
	t.account.charge(time.Now(), float64(bytes)*FuelPerByte)
}

// Refuse counts a request that the caller refused for another reason.
func (t *Tenant) Refuse() { t.meter.refuse(byOther) }

// tally adds up usage by tenant and key.
type tally map[[2]string]*Usage

func newTally() tally { return tally{} }

func (t tally) add(u Usage) {
	id := [2]string{u.Tenant, u.Key}
	if t[id] == nil {
		t[id] = &Usage{Tenant: u.Tenant, Key: u.Key}
	}
	t[id].add(u)
}

// sorted returns the sums without empty ones, sorted by tenant and key.
func (t tally) sorted() []Usage {
	var out []Usage
	for _, u := range t {
		if !u.empty() {
			out = append(out, *u)
		}
	}
	slices.SortFunc(out, func(a, b Usage) int {
		return cmp.Or(cmp.Compare(a.Tenant, b.Tenant), cmp.Compare(a.Key, b.Key))
	})
	return out
}
