package train

import (
	"github.com/merit-rl/merit/core/credit"
	"github.com/merit-rl/merit/core/env"
	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/learn"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/core/run"
)

// Untrained returns the policy that a run with settings s begins with in an
// environment of spec: a function of the two.
func Untrained(s Settings, spec env.Spec) (*learn.Policy, error) {
	in := learn.Input{Shape: spec.FeatureShape, Actions: spec.Actions}
	return learn.NewPolicy(s.Policy, in, rl.Seed(s.Seed).Child(credit.SeedPolicy))
}

// Trained returns the policy that a checkpoint of a run with settings s holds.
// It needs neither the learner's settings nor its state.
func Trained(s Settings, spec env.Spec, c *run.Checkpoint) (*learn.Policy, error) {
	p, err := Untrained(s, spec)
	if err != nil {
		return nil, err
	}
	state, err := LearnerState(c)
	if err != nil {
		return nil, err
	}
	return p, p.Load(state)
}

// LearnerState reads the learner's state out of a checkpoint.
func LearnerState(c *run.Checkpoint) (s learn.State, err error) {
	data, ok := c.Section(learnerSection)
	if !ok {
		return s, &fault.Error{
			Boundary: fault.Storage, Kind: fault.Corrupt, Where: "checkpoint", What: "it holds no learner's state",
			Hint: "it was written by another version of merit; train again in a new directory",
		}
	}
	err = s.UnmarshalBinary(data)
	return s, err
}

// learnerSection is the section of a checkpoint that holds the learner's
// state, as learn.State encodes itself.
const learnerSection = "learner"

func (l *loop) checkpoint() error {
	state, err := l.learner.Snapshot().MarshalBinary()
	if err != nil {
		return err
	}
	return l.dir.SaveCheckpoint(&run.Checkpoint{Cursor: l.cursor, Sections: []run.Section{{Name: learnerSection, Data: state}}})
}

// restore puts the loop where c stands.
func (l *loop) restore(c *run.Checkpoint) error {
	state, err := LearnerState(c)
	if err != nil {
		return err
	}
	if err := l.learner.Restore(state); err != nil {
		return err
	}
	l.cursor = c.Cursor
	if l.cursor.Outcomes == nil {
		l.cursor.Outcomes = map[string]int{}
	}
	switch reached := l.cursor.Iteration >= l.s.Train.Iterations; {
	case !reached && l.cursor.Stop == run.StopIterations:
		l.cursor.Stop = "" // the user asks for more iterations than before
	case reached && l.cursor.Stop == "":
		l.cursor.Stop = run.StopIterations // or for fewer
	}
	l.deps.Log.Info("resuming", "iteration", l.cursor.Iteration, "run", l.dir.Path())
	return nil
}
