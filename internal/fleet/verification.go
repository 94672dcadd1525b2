package fleet

import (
	"context"
	"errors"
	"iter"
	"slices"
	"sync"
	"time"
)

// verification is one Submit under way.
type verification struct {
	*Verifier
	job    string
	checks sync.WaitGroup

	mutex  sync.Mutex // of what follows, and of what entries hold
	drawn  map[int]Shard
	held   []*entry
	bytes  int64
	failed error // why nobody can say what is right
}

// entry is a result that is held back.
type entry struct {
	shard  Shard
	result Result
	asked  bool   // somebody is to compute it again
	busy   bool   // and has not said what comes of it
	here   bool   // this process has computed it
	by     string // a worker that says the same
	size   int64  // bytes that it was counted as
}

// errLeft is what ends a Submit that its caller leaves; nobody sees it.
var errLeft = errors.New("left")

// run takes results until all are settled and given away.
func (s *verification) run(ctx context.Context, shards iter.Seq[Shard], yield func(Result, error) bool) error {
	elsewhere, giveUp := context.WithCancel(ctx)
	defer giveUp()
	if err := s.taint(); err != nil {
		return err
	}
	for r, err := range s.inner.Submit(ctx, s.job, s.note(shards)) {
		if err != nil {
			return err
		}
		shard := s.shard(r.Index)
		if r.Err != nil || shard.Unsure { // that of many tries, of several workers
			if !yield(r, nil) {
				return errLeft
			}
			continue
		}
		s.take(ctx, elsewhere, &entry{shard: shard, result: r})
		if err := s.give(yield, false); err != nil {
			return err
		}
	}
	for {
		if err := s.settle(ctx, giveUp); err != nil {
			return err
		}
		if err := s.give(yield, true); err != nil || len(s.held) == 0 {
			return err
		}
		// What is left is in doubt: somebody was excluded.
		if elsewhere, giveUp = context.WithCancel(ctx); ctx.Err() != nil {
			giveUp()
			return ctx.Err()
		}
		defer giveUp()
		s.again(ctx, elsewhere)
	}
}

// note remembers shards until their results are given away.
func (s *verification) note(shards iter.Seq[Shard]) iter.Seq[Shard] {
	return func(yield func(Shard) bool) {
		for shard := range shards {
			s.mutex.Lock()
			s.drawn[shard.Index] = shard
			s.mutex.Unlock()
			if !yield(shard) {
				return
			}
		}
	}
}

func (s *verification) shard(index int) Shard {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	defer delete(s.drawn, index)
	return s.drawn[index]
}

// take holds a result back, and has it computed again if it is to be.
func (s *verification) take(ctx, elsewhere context.Context, e *entry) {
	e.here, e.size = e.result.Worker == "", int64(len(e.shard.Body)+len(e.result.Body))+256
	s.read(e)
	s.mutex.Lock()
	s.held, s.bytes = append(s.held, e), s.bytes+e.size
	s.mutex.Unlock()
	s.check(ctx, elsewhere, e)
}

// read begins to read a result that is held back.
func (s *verification) read(e *entry) {
	if s.o.Read == nil {
		return
	}
	shard, body := e.shard, e.result.Body
	read := sync.OnceValue(func() any { return s.o.Read(shard, body) })
	e.result.Read = read
	s.checks.Go(func() {
		s.reads <- struct{}{}
		defer func() { <-s.reads }()
		read()
	})
}

// correct replaces what a worker said.
func (e *entry) correct(body []byte, worker string) {
	e.result.Body, e.result.Worker, e.result.Read = body, worker, nil
}

// check has a result computed again if it is the worker's first or it is chosen.
func (s *verification) check(ctx, elsewhere context.Context, e *entry) {
	if e.here || s.outcast(e.result.Worker) {
		return
	}
	again, _ := s.chosen(s.job, e.shard.Index)
	if first := s.meet(e.result.Worker); first || again {
		s.ask(ctx, elsewhere, e)
	}
}

// settle waits for all second opinions, for no longer than it must.
func (s *verification) settle(ctx context.Context, giveUp func()) error {
	defer time.AfterFunc(s.o.Grace, giveUp).Stop()
	s.checks.Wait()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.failed
}

// mostHeld is how many results are held back at most.
const mostHeld = 1024

// give yields what is settled: all of it, or the oldest if too much is held. What
// is in doubt stays.
func (s *verification) give(yield func(Result, error) bool, all bool) error {
	s.mutex.Lock()
	if !all && s.bytes <= s.o.Hold && len(s.held) <= mostHeld {
		s.mutex.Unlock()
		return nil
	}
	var ready []Result
	left := s.held[:0]
	for i, e := range s.held {
		if !all && s.bytes <= s.o.Hold && len(s.held)-len(ready) <= mostHeld {
			left = append(left, s.held[i:]...)
			break
		}
		if e.busy || !s.settled(s.job, e) {
			left = append(left, e)
			continue
		}
		ready, s.bytes = append(ready, e.result), s.bytes-e.size
	}
	clear(s.held[len(left):])
	s.held = left
	s.mutex.Unlock()
	if err := s.taint(); err != nil {
		return err
	}
	if all {
		slices.SortFunc(ready, func(a, b Result) int { return a.Index - b.Index })
	}
	for _, r := range ready {
		if !yield(r, nil) {
			return errLeft
		}
	}
	return nil
}

// again replaces what excluded workers have computed, and asks again about what
// only they have confirmed.
func (s *verification) again(ctx, elsewhere context.Context) {
	var lost []*entry
	for _, e := range s.held { // nobody else is busy with it
		if e.asked, e.by = false, ""; s.outcast(e.result.Worker) {
			lost = append(lost, e)
		} else {
			s.ask(ctx, elsewhere, e)
		}
	}
	var others []Shard
	if s.others("") {
		others = shardsOf(lost)
	}
	for i, r := range s.elsewhere(elsewhere, derived(s.job, "without", s.Excluded()), others) {
		lost[i].correct(r.Body, r.Worker)
	}
	for _, e := range lost {
		if s.outcast(e.result.Worker) {
			s.checks.Go(func() { s.replace(ctx, e) })
		} else {
			s.check(ctx, elsewhere, e)
		}
	}
}

// shardsOf are the shards of entries, to be computed by others than who did.
func shardsOf(entries []*entry) (shards []Shard) {
	for i, e := range entries {
		shard := e.shard
		shard.Index, shard.Not = i, e.result.Worker
		shards = append(shards, shard)
	}
	return shards
}
