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
	index         int     // of the episode in the collection
	group, member int     // group counts from Plan.FirstGroup, branches from the last member
	attempt       int     // 0-based
	branch        *Branch // nil = the episode begins at the start
	next          *job    // the next branch from the same state, for the same slot
}

// starts returns the jobs of the episodes of a plan that begin at the start.
func (p Plan) starts() []job {
	jobs := make([]job, p.Groups*p.Members)
	for i := range jobs {
		jobs[i] = job{index: i, group: i / p.Members, member: i % p.Members}
	}
	return jobs
}

// queue is what the workers of a collection share: the jobs that wait and the
// episodes that are done, by index.
type queue struct {
	plan    Plan
	retries int
	notify  func(Progress)

	mu       sync.Mutex
	jobs     []job // that have not been started
	waiting  []job // to be retried
	alone    []job // to be retried alone in an environment
	episodes []*rl.Trajectory
	progress Progress
	retried  int
	passing  int
}

// newQueue returns the queue of so many episodes, after those of an earlier one of the same
// collection.
func newQueue(plan Plan, jobs []job, episodes, retries int, earlier Progress, notify func(Progress)) *queue {
	earlier.Total += episodes
	return &queue{
		plan: plan, retries: retries, notify: notify, jobs: jobs,
		episodes: make([]*rl.Trajectory, episodes),
		progress: earlier,
	}
}

// take returns the next job for a worker, if there is one that it may have now.
func (q *queue) take(idle bool) (j job, alone, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case len(q.waiting) > 0:
		j, q.waiting = q.waiting[0], q.waiting[1:]
		return j, false, true
	case len(q.jobs) > 0:
		j, q.jobs = q.jobs[0], q.jobs[1:]
		return j, false, true
	case idle && len(q.alone) > 0:
		// Members of one group tend to have the same fault: alternate between
		// groups, so that healthy episodes finish in between.
		slices.SortFunc(q.alone, func(x, y job) int {
			return cmp.Or(cmp.Compare(x.member, y.member), cmp.Compare(x.group, y.group))
		})
		j, q.alone = q.alone[0], q.alone[1:]
		return j, true, true
	}
	return job{}, false, false
}

// again queues a lost attempt's successor and reports whether there is one. After
// a crash, which takes every episode of an environment with it, the last attempt
// runs alone, so that the next crash affects only the episode that causes it.
func (q *queue) again(j job, how loss) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if j.attempt >= q.retries {
		if how != told {
			q.passing++
		}
		return false
	}
	q.retried++
	j.attempt++
	j.next = nil // it stays with the slot
	if how == crashed && j.attempt == q.retries {
		q.alone = append(q.alone, j)
	} else {
		q.waiting = append(q.waiting, j)
	}
	return true
}

// finish stores the episode of a job.
func (q *queue) finish(j job, t *rl.Trajectory) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.episodes[j.index] = t
	q.progress.Count(t)
	if q.notify != nil {
		q.notify(q.progress)
	}
}

// anyDone reports whether an episode has ended without a fault.
func (q *queue) anyDone() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.progress.Episodes > q.progress.Failed
}

// repeats counts steps that were repeated for a branch.
func (q *queue) repeats(steps int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.progress.Repeated += steps
}

func (q *queue) restarted() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.progress.Restarts++
	if q.notify != nil {
		q.notify(q.progress)
	}
}

func (q *queue) stats() Stats {
	return Stats{Progress: q.progress, Retried: q.retried, Passing: q.passing}
}

// begin returns the empty trajectory of a job.
func (q *queue) begin(j job, task string) *rl.Trajectory {
	if j.branch != nil {
		return j.branch.begin(j.member - q.plan.Members)
	}
	g := q.plan.FirstGroup + j.group
	seed := q.plan.Start(g)
	return &rl.Trajectory{
		ID:       q.plan.TrajectoryID(g, j.member),
		Group:    q.plan.GroupID(g),
		Task:     taskID(task, seed),
		Seed:     seed,
		Messages: []rl.Message{},
	}
}

// decision returns the randomness of the decision at a step.
func (q *queue) decision(j job, step int) rl.Seed {
	if b := j.branch; b != nil && step > b.At && b.Luck >= 0 {
		j.member = b.Luck
	}
	return q.plan.Seed.Path(uint64(q.plan.FirstGroup+j.group), uint64(j.member), uint64(step))
}

// groups returns the finished groups in order.
func (q *queue) groups(task string) []*rl.Group {
	groups := make([]*rl.Group, q.plan.Groups)
	for i := range groups {
		g := q.plan.FirstGroup + i
		seed := q.plan.Start(g)
		groups[i] = &rl.Group{
			ID:           q.plan.GroupID(g),
			Task:         rl.Task{ID: taskID(task, seed), Seed: seed},
			Trajectories: q.episodes[i*q.plan.Members : (i+1)*q.plan.Members : (i+1)*q.plan.Members],
		}
		for _, t := range groups[i].Trajectories { // a lost one may not know the name of its task
			if t.Task != groups[i].Task.ID {
				groups[i].Task.ID = t.Task
				break
			}
		}
	}
	return groups
}

// taskID names a start: it is the same in every run with that start.
func taskID(task string, seed uint64) string { return fmt.Sprintf("%s-%016x", task, seed) }
