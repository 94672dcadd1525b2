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

// Excluder is a Fleet that can do without a worker.
type Excluder interface {
	// Exclude takes no more results of worker, and gives it no more work. It may
	// be called more than once.
	Exclude(worker string, why error)
}

// VerifyOptions says how results are verified.
type VerifyOptions struct {
	// Share is the share of results that are computed again, from 0 to 1.
	Share float64
	// Handlers are what this process computes with where two workers disagree, or
	// the same one has computed twice. Without one for a kind nobody can say who is right.
	Handlers map[Kind]Handler
	// Read, if it is set, reads the body of a shard's result. What it cannot read is
	// no answer to the shard: its worker is excluded as one that lied. It may be
	// called by several goroutines.
	Read func(s Shard, body []byte) (any, error)
	// OnLiar, if it is set, is told of a worker that gave a wrong result, once.
	OnLiar func(worker string, why error)
}

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

// Verifier is a Fleet that computes a sample of its results again: the first of
// each worker and a share of all others, by whoever takes them. Where two workers
// differ this process computes; who gave something else is excluded, and what it
// gave to the Submit under way is computed in this process. What it gave to earlier
// ones, and nobody has checked, cannot be taken back: then this and every later
// Submit ends with an error that names the worker.
type Verifier struct {
	Fleet
	o    VerifyOptions
	here chan struct{} // one for each shard that this process may compute or read

	mutex    sync.Mutex // of what follows
	given    map[string]*history
	excluded map[string]bool
	tainted  error
	report   VerifyReport
}

// history is what a worker gave away that nobody has confirmed.
type history struct {
	results     int
	first, last string // the jobs of the first and of the last of them
}

// Verified returns inner with its results verified. Closing it closes inner.
func Verified(inner Fleet, o VerifyOptions) *Verifier {
	return &Verifier{Fleet: inner, o: o, here: make(chan struct{}, runtime.GOMAXPROCS(0)), given: map[string]*history{}, excluded: map[string]bool{}}
}

// Report returns what verifying came to so far.
func (v *Verifier) Report() VerifyReport {
	v.mutex.Lock()
	defer v.mutex.Unlock()
	r := v.report
	r.Liars = slices.SortedFunc(slices.Values(r.Liars), func(a, b Liar) int { return cmp.Compare(a.Worker, b.Worker) })
	return r
}

// Submit implements Fleet. All results are held back until the last one is verified;
// with a share of 0 none is.
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

// errLeft is what ends a Submit that its caller leaves; nobody sees it.
var errLeft = errors.New("left")

// verification is one Submit under way.
type verification struct {
	*Verifier
	job  string
	held []*entry // by place; of the goroutine that draws and takes
}

// entry is a shard, its result, and who says the same.
type entry struct {
	shard  Shard
	result Result
	value  any    // see VerifyOptions.Read
	sure   string // empty is nobody
	bad    bool   // the result is no answer to its shard
}

// byMe stands for this process among those who confirm results.
const byMe = "this process"

// run has all shards computed, and those that are chosen again, while others are
// still under way. Then it gives the results away, in order.
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
		err = failed // and ended the others
	}
	if err != nil {
		return err
	}
	if s.o.Share > 0 {
		err = s.give(ctx, s.held, yield)
	}
	return err
}

// take holds results back and calls check for those that may be wrong, or yields
// them at once where nobody is to be verified.
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

// compare has shards computed a second time, by whoever takes them, and holds both
// results to each other.
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

// derived is the name of the job that computes some of another again.
func derived(job string) string { return "verify-" + DigestOfBytes([]byte(job)).Hex()[:32] }

// judge computes a shard in this process, and excludes who says something else.
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
		return s.undecided(e, "two workers differ, and this process cannot say who is right", "see the cause; "+answers[0].Worker+" and "+answers[1].Worker+" are the workers", err)
	}
	differ := slices.DeleteFunc(answers, func(r Result) bool { return bytes.Equal(r.Body, own) })
	s.count(func(r *VerifyReport) {
		r.Checked, r.Here, r.Differed = r.Checked+1, r.Here+1, r.Differed+min(1, len(differ))
	})
	if len(differ) > 0 { // nobody is accused of what is not a function of the shard
		if twice, err := s.own(ctx, e); err != nil || !bytes.Equal(own, twice) {
			return cmp.Or(ctx.Err(), s.undecided(e, "this process itself gives two results to one shard", "set fleet.verify to 0 where results are not a function of their input, as with a model that samples elsewhere", err))
		}
	}
	for _, r := range differ {
		s.accuse(r.Worker, s.job, e.shard.Index, "is not what this process computes")
	}
	if bytes.Equal(e.result.Body, own) {
		e.sure = byMe
	}
	return nil
}

// undecided is the error of a Submit of which nobody can say what is right.
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

// read reads a result. One that is no answer to its shard is a wrong one.
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
		s.accuse(e.result.Worker, s.job, e.shard.Index, "is no answer to it: "+err.Error())
	}
}

// give yields results. What excluded workers have given is computed in this process
// first, and what nobody has confirmed is noted.
func (s *verification) give(ctx context.Context, all []*entry, yield func(Result, error) bool) error {
	work, ctx := errgroup.WithContext(ctx)
	for _, e := range all {
		if s.lost(e) {
			work.Go(func() error {
				own, err := s.own(ctx, e)
				if err != nil {
					return cmp.Or(ctx.Err(), s.undecided(e, "a wrong result cannot be computed again", "see the cause; without "+e.result.Worker+", go on from the last checkpoint", err))
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

// note remembers who gave a result that nobody has confirmed.
func (s *verification) note(e *entry) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if h := s.given[e.result.Worker]; h != nil && e.result.Err == nil && e.sure == "" {
		h.results++
		h.first, h.last = cmp.Or(h.first, s.job), s.job
	}
}

// lost reports whether a result is no answer, or that of an excluded worker and of
// nobody else.
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

// taint returns why what was given away is not to be trusted, or nil.
func (v *Verifier) taint() error {
	v.mutex.Lock()
	defer v.mutex.Unlock()
	return v.tainted
}

// chosen reports whether a result is computed again: the first of a worker, and a
// share of the others, by a chance that no worker can foresee.
func (s *verification) chosen(e *entry) bool {
	worker := e.result.Worker
	if worker == "" || e.shard.Unsure { // an unsure one is that of many tries, of several workers
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

// accuse excludes a worker that gave a wrong result.
func (v *Verifier) accuse(worker, job string, index int, what string) {
	why := &fault.Error{
		Boundary: fault.Fleet, Kind: fault.Differs, Where: "worker " + worker,
		What: fmt.Sprintf("its result of %s, shard %d, %s: it is excluded", job, index, what),
		Hint: "look for what is different there: the processor, the memory, what is installed, who runs it",
	}
	v.mutex.Lock()
	if worker == "" || v.excluded[worker] {
		v.mutex.Unlock()
		return
	}
	v.excluded[worker] = true
	v.report.Liars = append(v.report.Liars, Liar{worker, job, index})
	if h := v.given[worker]; h != nil && h.results > 0 && v.tainted == nil {
		v.tainted = &fault.Error{
			Boundary: fault.Fleet, Kind: fault.Differs, Where: "worker " + worker,
			What: fmt.Sprintf("it gave a wrong result of %s, shard %d, and before that %d results that nobody has checked, from %s to %s", job, index, h.results, h.first, h.last),
			Hint: "go on from a checkpoint of before, without this worker, or begin again; a larger fleet.verify finds such a worker earlier",
		}
	}
	v.mutex.Unlock()
	if x, ok := v.Fleet.(Excluder); ok {
		x.Exclude(worker, why)
	}
	if v.o.OnLiar != nil {
		v.o.OnLiar(worker, why)
	}
}
