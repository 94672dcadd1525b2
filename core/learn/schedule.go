package learn

import (
	"math"

	"github.com/merit-rl/merit/core/fault"
)

// Schedule is the course of the learning rate over the updates of a run. One
// update is one call of Learner.Update, whatever its minibatches.
type Schedule struct {
	// Kind is the form of the course: constant, or falling to Final.
	Kind ScheduleKind `yaml:"kind" json:"kind"`
	// WarmUp is the number of updates over which the rate rises linearly to
	// its full value.
	WarmUp int `yaml:"warmup" json:"warmup"`
	// Updates is the length of the whole course with its warm-up; linear and
	// cosine need it. 0 lets the training loop put its number of iterations.
	Updates int `yaml:"updates" json:"updates"`
	// Final is the share of the full rate that linear and cosine end at, and
	// keep beyond the end.
	Final float64 `yaml:"final" json:"final"`
}

func (s Schedule) validate(p *fault.Problems) {
	p.OneOf("schedule.kind", string(s.Kind), string(ScheduleConstant), string(ScheduleLinear), string(ScheduleCosine))
	p.Check(s.WarmUp >= 0, "schedule.warmup", s.WarmUp, "use a number of updates, or 0 for none")
	p.Check(s.Updates >= 0, "schedule.updates", s.Updates, "use the number of updates of the whole run, or 0 for train.iterations")
	p.Check(s.Updates == 0 || s.Updates > s.WarmUp, "schedule.updates", s.Updates, "use a number above schedule.warmup")
	p.Within("schedule.final", s.Final, 0, 1)
}

// Factor returns what the learning rate of the given update, counted from 0,
// is multiplied by.
func (s Schedule) Factor(update uint64) float64 {
	if update < uint64(s.WarmUp) {
		return float64(update+1) / float64(s.WarmUp)
	}
	if s.Kind == ScheduleConstant {
		return 1
	}
	done := min(1, float64(update-uint64(s.WarmUp))/float64(max(1, s.Updates-s.WarmUp)))
	if s.Kind == ScheduleCosine {
		done = (1 - math.Cos(math.Pi*done)) / 2
	}
	return 1 + (s.Final-1)*done
}
