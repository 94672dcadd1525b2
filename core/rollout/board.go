package rollout

import (
	"cmp"
	"fmt"
	"slices"
	"sync"

	"github.com/merit-rl/merit/core/rl"
)

// job is one attempt at one episode.
type job struct {
	group, member int // group counts from Plan.FirstGroup
	attempt       int // 0-based
}

// board is what the workers of a collection share: the jobs that wait and the
// episodes that are done, by index.
type board struct {
	plan    Plan
	retries int
	notify  func(Progress)

	mu       sync.Mutex
	next     int   // index of the first episode that was never begun
	waiting  []job // to be begun again
	alone    []job // to be begun again in an environment with nothing else in it
	episodes []*rl.Trajectory
	progress Progress
	retried  int
}

func newBoard(plan Plan, retries int, notify func(Progress)) *board {
	total := plan.Groups * plan.Members
	return &board{
		plan: plan, retries: retries, notify: notify,
		episodes: make([]*rl.Trajectory, total),
		progress: Progress{Total: total},
	}
}

// take returns the next job for a worker, if there is one that it may have now.
func (b *board) take(idle bool) (j job, alone, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case len(b.waiting) > 0:
		j, b.waiting = b.waiting[0], b.waiting[1:]
		return j, false, true
	case b.next < len(b.episodes):
		b.next++
		return job{group: (b.next - 1) / b.plan.Members, member: (b.next - 1) % b.plan.Members}, false, true
	case idle && len(b.alone) > 0:
		// Members of one group tend to meet the same fault: take turns among
		// the groups, so that healthy episodes are finished in between.
		slices.SortFunc(b.alone, func(x, y job) int {
			return cmp.Or(cmp.Compare(x.member, y.member), cmp.Compare(x.group, y.group))
		})
		j, b.alone = b.alone[0], b.alone[1:]
		return j, true, true
	}
	return job{}, false, false
}

// again queues a lost attempt's successor and reports whether there is one.
// After a crash, which takes every episode of an environment with it, the last
// attempt runs alone, so that the next crash costs only its own culprit.
func (b *board) again(j job, crashed bool) bool {
	if j.attempt >= b.retries {
		return false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.retried++
	j.attempt++
	if crashed && j.attempt == b.retries {
		b.alone = append(b.alone, j)
	} else {
		b.waiting = append(b.waiting, j)
	}
	return true
}

// finish files the episode of a job.
func (b *board) finish(j job, t *rl.Trajectory) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.episodes[j.group*b.plan.Members+j.member] = t
	b.progress.Episodes++
	b.progress.Steps += len(t.Steps)
	switch {
	case t.StopReason == rl.StopError:
		b.progress.Failed++
	case t.StopReason == rl.StopTerminated && t.Steps[len(t.Steps)-1].EnvReward > 0:
		b.progress.Successes++
	}
	if b.notify != nil {
		b.notify(b.progress)
	}
}

func (b *board) restarted() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.progress.Restarts++
	if b.notify != nil {
		b.notify(b.progress)
	}
}

func (b *board) stats() Stats { return Stats{Progress: b.progress, Retried: b.retried} }

// begin returns the empty trajectory of a job.
func (b *board) begin(j job, task string) *rl.Trajectory {
	g := b.plan.FirstGroup + j.group
	seed := uint64(b.plan.Seed.Path(uint64(g)))
	return &rl.Trajectory{
		ID:       b.plan.trajectoryID(g, j.member),
		Group:    b.plan.groupID(g),
		Task:     taskID(task, seed),
		Seed:     seed,
		Messages: []rl.Message{},
	}
}

// decision returns the randomness of the decision at a step.
func (b *board) decision(j job, step int) rl.Seed {
	return b.plan.Seed.Path(uint64(b.plan.FirstGroup+j.group), uint64(j.member), uint64(step))
}

// groups returns the finished groups in order.
func (b *board) groups(task string) []*rl.Group {
	groups := make([]*rl.Group, b.plan.Groups)
	for i := range groups {
		g := b.plan.FirstGroup + i
		seed := uint64(b.plan.Seed.Path(uint64(g)))
		groups[i] = &rl.Group{
			ID:           b.plan.groupID(g),
			Task:         rl.Task{ID: taskID(task, seed), Seed: seed},
			Trajectories: b.episodes[i*b.plan.Members : (i+1)*b.plan.Members : (i+1)*b.plan.Members],
		}
	}
	return groups
}

// taskID names a start: the same in every run that meets it.
func taskID(task string, seed uint64) string { return fmt.Sprintf("%s-%016x", task, seed) }
