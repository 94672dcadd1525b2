package train

import (
	"context"
	"fmt"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/monitor"
	"github.com/merit-rl/merit/core/run"
)

// LearnerState returns the state of the learner that a checkpoint holds, as
// policy.Learner.Save gave it.
func LearnerState(c *run.Checkpoint) ([]byte, error) {
	data, ok := c.Section(learnerSection)
	if !ok {
		return nil, &fault.Error{
			Boundary: fault.Storage, Kind: fault.Corrupt, Where: "checkpoint", What: "it holds no learner's state",
			Hint: "it was written by another version of merit; train again in a new directory",
		}
	}
	return data, nil
}

// learnerSection is the section of a checkpoint that holds the learner's
// state.
const learnerSection = "learner"

func (l *loop) checkpoint(ctx context.Context) error {
	state, err := l.learner.Save(ctx, fmt.Sprintf("iteration-%d", l.cursor.Iteration))
	if err != nil {
		return err
	}
	return l.dir.SaveCheckpoint(&run.Checkpoint{Cursor: l.cursor, Sections: []run.Section{{Name: learnerSection, Data: state}}})
}

// load puts the learner where checkpoint c of the run stands.
func (l *loop) load(ctx context.Context, c *run.Checkpoint) error {
	state, err := LearnerState(c)
	if err != nil {
		return err
	}
	return l.learner.Load(ctx, state)
}

// restore puts the loop where c stands.
func (l *loop) restore(ctx context.Context, c *run.Checkpoint) error {
	if err := l.load(ctx, c); err != nil {
		return err
	}
	var err error
	if l.history, err = run.ReadMetrics(l.dir.Path()); err != nil {
		return err
	}
	l.cursor = c.Cursor
	if l.cursor.Outcomes == nil {
		l.cursor.Outcomes = map[string]int{}
	}
	switch reached := l.cursor.Iteration >= l.s.Train.Iterations; {
	case !reached && l.cursor.Stop == run.StopAlarm && l.s.Monitor.OnAlarm != monitor.OnAlarmStop:
		l.cursor.Stop = "" // the user has seen the alarm and goes on
	case !reached && l.cursor.Stop == run.StopIterations:
		l.cursor.Stop = "" // the user asks for more iterations than before
	case reached && l.cursor.Stop == "":
		l.cursor.Stop = run.StopIterations // or for fewer
	}
	l.deps.Log.Info("resuming", "iteration", l.cursor.Iteration, "run", l.dir.Path())
	return nil
}
