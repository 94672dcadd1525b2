package rollout

import (
	"strconv"
	"time"

	"github.com/merit-rl/merit/core/rl"
)

// Plan is which episodes to collect. Group i of the plan has the number g =
// FirstGroup + i; its environment seed is Starts[i] or, without Starts, Seed.Path(g), and
// the randomness of a decision is Seed.Path(g, member, step).
type Plan struct {
	Seed       rl.Seed
	FirstGroup int
	Groups     int    // 0 means Config.Groups
	Members    int    // 0 means Config.Members
	Prefix     string // prefix of the ids of groups and trajectories
	Greedy     bool   // the policy takes its most likely actions
	// Unscored leaves scoring to the caller, who scores episodes of several policies
	// together. What plays for it returns evaluations that mean nothing, or none.
	Unscored bool `json:"Unscored,omitempty"`
	// Branch says that episodes branch as configured.
	Branch bool `json:"Branch,omitempty"`
	// Starts are the environment seeds of the groups, if a sampler chose them; nil
	// otherwise.
	Starts []uint64 `json:"Starts,omitempty"`

	// For a player of recordings: the iteration that learns from the episodes,
	// counted from 1 (0 is an evaluation), and whether the policy is untrained.
	Iteration int  `json:"-"`
	Baseline  bool `json:"-"`
}

// Start returns the environment seed of group g.
func (p Plan) Start(g int) uint64 {
	if p.Starts != nil {
		return p.Starts[g-p.FirstGroup]
	}
	return uint64(p.Seed.Path(uint64(g)))
}

// Part returns the plan of n groups of p, from group first of p on, counted from 0.
func (p Plan) Part(first, n int) Plan {
	p.FirstGroup += first
	p.Groups = n
	if p.Starts != nil {
		p.Starts = p.Starts[first : first+n]
	}
	return p
}

// GroupID returns the id of group g, such as "train-3-g17".
func (p Plan) GroupID(g int) string { return p.Prefix + "g" + strconv.Itoa(g) }

// TrajectoryID returns the id of a member of group g, such as
// "train-3-g17-m0".
func (p Plan) TrajectoryID(g, member int) string {
	return p.GroupID(g) + "-m" + strconv.Itoa(member)
}

// Lost returns the groups of p, whose Groups and Members are set, as lost: each
// episode ended before its first step, for the reason why. Task is the
// environment's name.
func (p Plan) Lost(task, why string) []*rl.Group {
	jobs := p.starts()
	q := newQueue(p, jobs, len(jobs), 0, Progress{}, nil)
	for i, j := range jobs {
		t := q.begin(j, task)
		t.StopReason, t.Error = rl.StopError, why
		q.episodes[i] = t
	}
	return q.groups(task)
}

// Progress is how far a collection is. Calls are serialized; the order in which
// episodes finish is the only thing about them that may differ between runs.
type Progress struct {
	Episodes  int // decided so far, failed ones among them
	Total     int
	Branches  int // episodes that left others
	Steps     int // of the decided episodes, those that branches share counted once
	Repeated  int // steps that were taken again to reach the states where branches begin
	Successes int // episodes from the start that terminated with a positive environment reward on the last step
	Failed    int // episodes that ended with rl.StopError
	Restarts  int // environments opened again after a fault
}

// Count adds an episode that is decided.
func (p *Progress) Count(t *rl.Trajectory) {
	p.Episodes++
	p.Steps += max(0, len(t.Steps)-t.BranchAt)
	if t.BranchOf != "" {
		p.Branches++
	}
	switch {
	case t.StopReason == rl.StopError:
		p.Failed++
	case t.BranchOf != "":
	case t.StopReason == rl.StopTerminated && len(t.Steps) > 0 && t.Steps[len(t.Steps)-1].EnvReward > 0:
		p.Successes++
	}
}

// Stats describes a finished collection. It is for people and reports: Retried,
// Restarts, Passing and Elapsed do not depend on the seed alone.
type Stats struct {
	Progress
	Retried int // attempts that ended with a fault
	Passing int // failed episodes that might succeed elsewhere: a process exited, or was late or busy
	Elapsed time.Duration
}
