package train

import "github.com/merit-rl/merit/core/run"

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
	if l.cursor.Stop == run.StopIterations && l.cursor.Iteration < l.s.Train.Iterations {
		l.cursor.Stop = "" // the user asks for more iterations than before
	}
	l.deps.Log.Info("resuming", "iteration", l.cursor.Iteration, "run", l.dir.Path())
	return nil
}
