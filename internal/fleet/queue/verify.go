package queue

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/merit-rl/merit/core/fault"
)

// Excluder is a Fleet that can exclude a worker.
type Excluder interface {
	// Exclude refuses further results of worker and gives it no more work. It may be called
	// more than once.
	Exclude(worker string, why error)
}

// VerifyOptions configure the verification of results.
type VerifyOptions struct {
	// Share is the share of results that are computed a second time, from 0 to 1.
	Share float64
	// Handlers compute a shard in this process if two workers disagree or if the same worker
	// computed it twice. Without a handler for its kind, such a shard cannot be decided.
	Handlers map[Kind]Handler
	// Read, if not nil, decodes the body of a shard's result. If it returns an error, the
	// result is wrong, and its worker is excluded. It may be called from several goroutines.
	Read func(s Shard, body []byte) (any, error)
	// OnWrongResult, if not nil, is called once for each worker that returned a wrong result.
	OnWrongResult func(worker string, why error)
}

// VerifyReport summarizes the verification. It is informational.
type VerifyReport struct {
	Checked   int           `json:"checked"`   // results that were computed a second time
	Here      int           `json:"here"`      // of those, in this process
	Unchecked int           `json:"unchecked"` // results that could not be computed a second time
	Differed  int           `json:"differed"`  // checks in which results differed
	Wrong     []WrongResult `json:"liars"`     // sorted by name
}

// WrongResult is the first wrong result of a worker.
type WrongResult struct {
	Worker string `json:"worker"`
	Job    string `json:"job"`   // job of its first wrong result
	Index  int    `json:"index"` // index of that shard
}

// Verifier is a Fleet that computes a sample of its results a second time, on any worker: the
// first result of each worker and a share of all others. If two workers differ, this process
// computes the shard. It then excludes the worker whose result was wrong, and computes that
// worker's unverified results of the running Submit itself. Unverified results of earlier
// Submits cannot be taken back, so this and every later Submit returns an error that names the
// worker.
type Verifier struct {
	Fleet
	o    VerifyOptions
	here chan struct{} // limits how many shards this process computes or reads at the same time

	mutex    sync.Mutex // guards the fields below
	given    map[string]*history
	excluded map[string]bool
	tainted  error
	report   VerifyReport
}

// history counts the unverified results of a worker that were passed on.
type history struct {
	results     int
	first, last string // jobs of the first and the last of them
}

// Verified returns a fleet that verifies the results of inner. Closing it closes inner.
func Verified(inner Fleet, o VerifyOptions) *Verifier {
	return &Verifier{Fleet: inner, o: o, here: make(chan struct{}, runtime.GOMAXPROCS(0)), given: map[string]*history{}, excluded: map[string]bool{}}
}

// Report returns the report so far.
func (v *Verifier) Report() VerifyReport {
	v.mutex.Lock()
	defer v.mutex.Unlock()
	r := v.report
	r.Wrong = slices.SortedFunc(slices.Values(r.Wrong), func(a, b WrongResult) int { return cmp.Compare(a.Worker, b.Worker) })
	return r
}

// Submit implements Fleet. It holds all results back until the last one is verified. With a
// share of 0 it holds nothing back.
func (v *Verifier) Submit(ctx context.Context, job string, shards iter.Seq[Shard]) iter.Seq2[Result, error] {
	return func(yield func(Result, error) bool) {
		s := &verification{Verifier: v, job: job}
		err := v.taint()
		if err == nil {
			err = s.run(ctx, shards, yield)
		}
		if err != nil && err != errLeft {
			yield(Result{}, err)
		}
	}
}

// errLeft stops a Submit whose caller stopped iterating. It is never returned to the caller.
var errLeft = errors.New("left")

// verification is one running Submit.
type verification struct {
	*Verifier
	job  string
	held []*entry // by index; used only by the goroutine that draws and takes
}

// entry is a shard, its result, and the worker that confirmed it.
type entry struct {
	shard  Shard
	result Result
	value  any    // see VerifyOptions.Read
	sure   string // worker that computed the same; empty if none
	bad    bool   // whether Read rejected the result
}

// byMe is the value of entry.sure if this process confirmed the result.
const byMe = "this process"

// run computes all shards and meanwhile recomputes those that are chosen. Then it yields the
// results in order.
func (s *verification) run(ctx context.Context, shards iter.Seq[Shard], yield func(Result, error) bool) error {
	work, inner := errgroup.WithContext(ctx)
	var again chan *entry
	err := s.take(inner, shards, yield, func(e *entry) {
		work.Go(func() error { s.read(e); return nil })
		if !s.chosen(e) {
			return
		}
		if again == nil {
			again = make(chan *entry, 256)
			work.Go(func() error { return s.compare(inner, again) })
		}
		select {
		case again <- e:
		case <-inner.Done():
		}
	})
	if again != nil {
		close(again)
	}
	if failed := work.Wait(); failed != nil && ctx.Err() == nil {
		err = failed // this error canceled the rest
	}
	if err != nil {
		return err
	}
	if s.o.Share > 0 {
		err = s.give(ctx, s.held, yield)
	}
	return err
}

// take holds results back and calls check for each success. If verification is off, it yields
// each result at once instead.
func (s *verification) take(ctx context.Context, shards iter.Seq[Shard], yield func(Result, error) bool, check func(*entry)) error {
	for r, err := range s.Fleet.Submit(ctx, s.job, func(yield func(Shard) bool) {
		for shard := range shards {
			shard.Index = len(s.held)
			if s.held = append(s.held, &entry{shard: shard}); !yield(shard) {
				return
			}
		}
	}) {
		if err != nil {
			return err
		}
		e := s.held[r.Index]
		e.result = r
		switch {
		case s.o.Share <= 0:
			s.held[r.Index] = nil
			s.read(e)
			if err := s.give(ctx, []*entry{e}, yield); err != nil {
				return err
			}
		case r.Err == nil:
			check(e)
		}
	}
	return nil
}

// compare computes shards a second time on any worker and compares both results.
func (s *verification) compare(ctx context.Context, again <-chan *entry) error {
	var all []*entry
	checks, inner := errgroup.WithContext(ctx)
	for second, err := range s.Fleet.Submit(inner, derived(s.job), func(yield func(Shard) bool) {
		for e := range again {
			if all = append(all, e); !yield(e.shard) {
				return
			}
		}
	}) {
		if err != nil {
			return errors.Join(checks.Wait(), err)
		}
		e := all[second.Index]
		if second.Err == nil && second.Worker != e.result.Worker && bytes.Equal(e.result.Body, second.Body) {
			s.count(func(r *VerifyReport) { r.Checked++ })
			e.sure = second.Worker
			continue
		}
		checks.Go(func() error { return s.judge(inner, e, second) })
	}
	return checks.Wait()
}

// derived returns the name of the job that recomputes shards of another job.
func derived(job string) string { return "verify-" + DigestOfBytes([]byte(job)).Hex()[:32] }

// judge computes a shard in this process and excludes workers whose result differs.
func (s *verification) judge(ctx context.Context, e *entry, second Result) error {
	answers := []Result{e.result}
	if second.Err == nil && second.Worker != e.result.Worker {
		answers = append(answers, second)
	}
	own, err := s.own(ctx, e)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil && len(answers) == 1:
		s.count(func(r *VerifyReport) { r.Unchecked++ })
		return nil
	case err != nil:
		return s.undecided(e, "two workers returned different results, and this process cannot decide which is right", "fix the cause; the workers are "+answers[0].Worker+" and "+answers[1].Worker, err)
	}
	differ := slices.DeleteFunc(answers, func(r Result) bool { return bytes.Equal(r.Body, own) })
	s.count(func(r *VerifyReport) {
		r.Checked, r.Here, r.Differed = r.Checked+1, r.Here+1, r.Differed+min(1, len(differ))
	})
	if len(differ) > 0 { // do not accuse a worker if the result is not a function of the shard
		if twice, err := s.own(ctx, e); err != nil || !bytes.Equal(own, twice) {
			return cmp.Or(ctx.Err(), s.undecided(e, "this process itself computes two different results for one shard", "set fleet.verify to 0 if results are not a function of their input, for example with a model that samples in a service", err))
		}
	}
	for _, r := range differ {
		s.accuse(r.Worker, s.job, e.shard.Index, "differs from what this process computes")
	}
	if bytes.Equal(e.result.Body, own) {
		e.sure = byMe
	}
	return nil
}

// undecided returns the error of a Submit whose correct result is unknown.
func (s *verification) undecided(e *entry, what, hint string, err error) error {
	return &fault.Error{Boundary: fault.Fleet, Kind: fault.Differs, Where: fmt.Sprintf("%s, shard %d", s.job, e.shard.Index), What: what, Hint: hint, Err: err}
}

// own computes a shard in this process.
func (s *verification) own(ctx context.Context, e *entry) (body []byte, err error) {
	s.here <- struct{}{}
	defer func() { <-s.here }()
	for range MaxTries {
		if body, err = s.o.Handlers[e.shard.Kind].Do(ctx, e.shard); err == nil || ctx.Err() != nil {
			break
		}
	}
	return body, err
}

// read decodes a result. A result that cannot be decoded is wrong.
func (s *verification) read(e *entry) {
	if s.o.Read == nil || e.result.Err != nil {
		return
	}
	s.here <- struct{}{}
	defer func() { <-s.here }()
	var err error
	if e.value, err = s.o.Read(e.shard, e.result.Body); err != nil {
		e.bad = true
		s.count(func(r *VerifyReport) { r.Differed++ })
		s.accuse(e.result.Worker, s.job, e.shard.Index, "does not fit the shard: "+err.Error())
	}
}

// give yields results. Before that, this process recomputes the results of excluded workers. It
// records results that are not verified.
func (s *verification) give(ctx context.Context, all []*entry, yield func(Result, error) bool) error {
	work, ctx := errgroup.WithContext(ctx)
	for _, e := range all {
		if s.lost(e) {
			work.Go(func() error {
				own, err := s.own(ctx, e)
				if err != nil {
					return cmp.Or(ctx.Err(), s.undecided(e, "a wrong result cannot be recomputed", "fix the cause, then resume from the last checkpoint without worker "+e.result.Worker, err))
				}
				e.result.Body, e.result.Worker, e.bad = own, "", false
				s.read(e)
				return nil
			})
		}
	}
	if err := work.Wait(); err != nil {
		return err
	}
	if err := s.taint(); err != nil {
		return err
	}
	for _, e := range all {
		s.note(e)
		if e.result.Value = e.value; !yield(e.result, nil) {
			return errLeft
		}
	}
	return nil
}

// note records the worker of a result that is not verified.
func (s *verification) note(e *entry) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if h := s.given[e.result.Worker]; h != nil && e.result.Err == nil && e.sure == "" {
		h.results++
		h.first, h.last = cmp.Or(h.first, s.job), s.job
	}
}

// lost reports whether a result must be recomputed: it cannot be decoded, or only excluded
// workers computed it.
func (v *Verifier) lost(e *entry) bool {
	v.mutex.Lock()
	defer v.mutex.Unlock()
	return e.bad || e.result.Err == nil && v.excluded[e.result.Worker] && (e.sure == "" || v.excluded[e.sure])
}

func (v *Verifier) count(add func(*VerifyReport)) {
	v.mutex.Lock()
	defer v.mutex.Unlock()
	add(&v.report)
}

// taint returns why results that were already yielded cannot be trusted, or nil.
func (v *Verifier) taint() error {
	v.mutex.Lock()
	defer v.mutex.Unlock()
	return v.tainted
}

// chosen reports whether a result is to be recomputed: the first one of each worker, and a
// random share of the others, which workers cannot predict.
func (s *verification) chosen(e *entry) bool {
	worker := e.result.Worker
	if worker == "" || e.shard.Unsure { // an unsure result comes from tries of several workers
		return false
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	met := s.given[worker] != nil
	if !met {
		s.given[worker] = &history{}
	}
	return !met || rand.Float64() < s.o.Share
}

// accuse excludes a worker that returned a wrong result.
func (v *Verifier) accuse(worker, job string, index int, what string) {
	why := &fault.Error{
		Boundary: fault.Fleet, Kind: fault.Differs, Where: "worker " + worker,
		What: fmt.Sprintf("its result of %s, shard %d, %s; the worker is excluded", job, index, what),
		Hint: "check what differs on its machine: CPU, memory, installed software, and who operates it",
	}
	v.mutex.Lock()
	if worker == "" || v.excluded[worker] {
		v.mutex.Unlock()
		return
	}
	v.excluded[worker] = true
	v.report.Wrong = append(v.report.Wrong, WrongResult{worker, job, index})
	if h := v.given[worker]; h != nil && h.results > 0 && v.tainted == nil {
		v.tainted = &fault.Error{
			Boundary: fault.Fleet, Kind: fault.Differs, Where: "worker " + worker,
			What: fmt.Sprintf("it returned a wrong result of %s, shard %d, and before that %d unverified results, from %s to %s", job, index, h.results, h.first, h.last),
			Hint: "resume from an earlier checkpoint or start again, without this worker; raise fleet.verify to detect such a worker earlier",
		}
	}
	v.mutex.Unlock()
	if x, ok := v.Fleet.(Excluder); ok {
		x.Exclude(worker, why)
	}
	if v.o.OnWrongResult != nil {
		v.o.OnWrongResult(worker, why)
	}
}
