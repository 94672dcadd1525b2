package fleet

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/merit-rl/merit/core/fault"
)

// VerifyReport says what verifying came to, for people.
type VerifyReport struct {
	Checked   int    `json:"checked"`   // results that were computed again
	Here      int    `json:"here"`      // of them, in this process
	Unchecked int    `json:"unchecked"` // results that nobody could compute again
	Differed  int    `json:"differed"`  // checks in which somebody said something else
	Liars     []Liar `json:"liars"`     // by name
}

// Liar is a worker that gave a wrong result.
type Liar struct {
	Worker string `json:"worker"`
	Job    string `json:"job"`   // the job of its first wrong result
	Index  int    `json:"index"` // and its place
}

// Report returns what verifying came to so far.
func (v *Verifier) Report() VerifyReport {
	v.mutex.Lock()
	defer v.mutex.Unlock()
	r := v.report
	r.Liars = slices.Clone(r.Liars)
	slices.SortFunc(r.Liars, func(a, b Liar) int { return strings.Compare(a.Worker, b.Worker) })
	return r
}

func (v *Verifier) count(add func(*VerifyReport)) {
	v.mutex.Lock()
	defer v.mutex.Unlock()
	add(&v.report)
}

// taint returns why what was given away is not to be trusted, or nil.
func (v *Verifier) taint() error {
	v.mutex.Lock()
	defer v.mutex.Unlock()
	return v.tainted
}

// outcast reports whether a worker was excluded.
func (v *Verifier) outcast(worker string) bool {
	v.mutex.Lock()
	defer v.mutex.Unlock()
	return v.excluded[worker] != nil
}

// meet notes that a worker is there, and reports whether it was not known yet.
func (v *Verifier) meet(worker string) bool {
	v.mutex.Lock()
	defer v.mutex.Unlock()
	h := v.workers[worker]
	if h == nil {
		h = &history{}
		v.workers[worker] = h
	}
	first := !h.met
	h.met, h.there = true, true
	return first
}

// others reports whether a worker that is believed is there besides worker.
func (v *Verifier) others(worker string) bool {
	v.mutex.Lock()
	defer v.mutex.Unlock()
	for name, h := range v.workers {
		if h.there && name != worker && v.excluded[name] == nil {
			return true
		}
	}
	return false
}

// alone notes that nobody but worker seems to be there any more.
func (v *Verifier) alone(worker string) {
	v.mutex.Lock()
	defer v.mutex.Unlock()
	for name, h := range v.workers {
		h.there = h.there && name == worker
	}
}

// settled reports whether a result may be given away, and notes it if nobody has
// confirmed it.
func (v *Verifier) settled(job string, e *entry) bool {
	v.mutex.Lock()
	defer v.mutex.Unlock()
	switch {
	case e.here:
		return true
	case v.excluded[e.result.Worker] != nil:
		return false
	case e.by != "":
		return v.excluded[e.by] == nil
	}
	h := v.workers[e.result.Worker]
	if h.given++; h.first == "" {
		h.first = job
	}
	h.last = job
	return true
}

// accuse excludes a worker that gave a wrong result.
func (v *Verifier) accuse(worker, job string, index int) {
	why := &fault.Error{
		Boundary: fault.Fleet, Kind: fault.Differs, Where: "worker " + worker,
		What: fmt.Sprintf("its result of %s, shard %d, is not what this process computes: it is excluded", job, index),
		Hint: "look for what is different there: the processor, the memory, what is installed, who runs it",
	}
	v.mutex.Lock()
	if v.excluded[worker] != nil {
		v.mutex.Unlock()
		return
	}
	v.excluded[worker] = why
	v.report.Liars = append(v.report.Liars, Liar{worker, job, index})
	if h := v.workers[worker]; h != nil && h.given > 0 && v.tainted == nil {
		v.tainted = &fault.Error{
			Boundary: fault.Fleet, Kind: fault.Differs, Where: "worker " + worker,
			What: fmt.Sprintf("it gave a wrong result of %s, shard %d, and before that %d results that nobody has checked, from %s to %s", job, index, h.given, h.first, h.last),
			Hint: "go on from a checkpoint of before, without this worker, or begin again; a larger fleet.verify finds such a worker earlier",
		}
	}
	v.mutex.Unlock()
	if x, ok := v.inner.(Excluder); ok {
		x.Exclude(worker, why)
	}
	if v.o.OnLiar != nil {
		v.o.OnLiar(worker, why)
	}
}

// Excluded returns the workers that are not believed any more, by name.
func (v *Verifier) Excluded() []string {
	v.mutex.Lock()
	defer v.mutex.Unlock()
	return slices.Sorted(maps.Keys(v.excluded))
}
