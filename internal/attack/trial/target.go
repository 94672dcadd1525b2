// Package trial is the reward under attack: it scores replies to the tasks of the data, and knows for
// each task what a right reply earns and what a wrong one does.
package trial

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/attack/reply"
	"github.com/merit-rl/merit/internal/audit/tasks"
)

// most is how many tasks an attack uses, and longest how many bytes a reply may have.
const (
	most    = 8
	longest = 32_000
)

// Target is a reward and the tasks to try it on.
type Target struct {
	Cases []*Case
	// Ignored means that no truth of another task changed the score of a right reply: the reward
	// scores form only, or it has no truth.
	Ignored bool
	// Evaluations counts what was scored.
	Evaluations int

	info reward.Info
	pool *reward.Pool
	best float64 // the highest score so far
}

// Case is a task.
type Case struct {
	*tasks.Task
	World reply.World
	// Oracle is a right reply, Right its score, and Floor the lowest score of a wrong one. They are
	// meaningful if Known.
	Oracle       reply.Reply
	Right, Floor float64
	Known        bool

	truth string // canonical
	group []*rl.Trajectory
}

// Trial is a reply to one task.
type Trial struct {
	Case  int
	Reply reply.Reply
	// Truth replaces that of the task; nil keeps it.
	Truth json.RawMessage
	// Columns is a row whose truth and columns replace those of the task; nil keeps them.
	Columns *rl.Trajectory

	Said  reply.Said
	Row   *rl.Trajectory
	Found reward.Evaluation
	// Relative is the score between that of a wrong reply, 0, and that of the right one, 1; 0 if
	// there is no score.
	Relative float64
	// Right is what the right reply earns there.
	Right float64
}

// Scored reports whether the trial has a score.
func (t *Trial) Scored() bool { return t.Row != nil && t.Found.Outcome == reward.Scored }

// Score is the score of a trial that has one.
func (t *Trial) Score() float64 { return t.Found.Result.Score }

// New returns a target of rows and learns what right and wrong replies earn.
func New(ctx context.Context, pool *reward.Pool, rows []*rl.Trajectory) (*Target, error) {
	t := &Target{pool: pool, info: pool.Parts()[0].Scorer.Info()}
	for _, task := range tasks.Of(rows, t.info, most) {
		if !task.Single {
			task.Answers = tasks.AnswersOf(task.Truth)
		}
		t.Cases = append(t.Cases, &Case{Task: task, truth: truthKey(task)})
	}
	t.describe()
	return t, t.calibrate(ctx)
}

// Info is that of the reward.
func (t *Target) Info() reward.Info { return t.info }

// compares reports whether replies are scored beside others.
func (t *Target) compares() bool {
	return t.info.Group && (t.info.Entry == nil || t.info.Entry.Batch == 0)
}

// Score scores trials, in order. Those whose reply stands for nothing in their task have no row.
func (t *Target) Score(ctx context.Context, trials []*Trial) error {
	var rows []*rl.Trajectory
	var at []int // the position of each trial in rows, -1 if it is not scored
	for i, x := range trials {
		at = append(at, -1)
		if x.prepare(t) {
			row, members := t.members(x, fmt.Sprintf("trial %d", i))
			at[i] = len(rows) + row
			rows = append(rows, members...)
		}
	}
	found, err := t.pool.EvaluateAll(ctx, rows, nil)
	if err != nil {
		return err
	}
	t.Evaluations += len(rows)
	for i, x := range trials {
		if at[i] >= 0 {
			x.Found = found[at[i]]
			t.relate(x, found, rows, at[i])
		}
	}
	return nil
}

// prepare makes the row of a trial.
func (x *Trial) prepare(t *Target) bool {
	c := t.Cases[x.Case]
	said, ok := x.Reply.Say(&c.World)
	if !ok {
		return false
	}
	x.Said, x.Row = said, c.row(t.info, said, x.Truth)
	if x.Columns != nil {
		x.Row.GroundTruth, x.Row.Metadata, x.Row.Own = x.Columns.GroundTruth, x.Columns.Metadata, x.Columns.Own
	}
	return true
}

// row returns the row of a task with a reply instead of its last one.
func (c *Case) row(info reward.Info, said reply.Said, truth json.RawMessage) *rl.Trajectory {
	row := c.With(info, c.Row.ID, said.Text, truth)
	if !c.Single {
		last := len(c.Row.Messages) - 1
		for last > 0 && c.Row.Messages[last].Role != rl.RoleAssistant {
			last--
		}
		row.Messages = append(slices.Clone(c.Row.Messages[:last]), row.Messages[len(row.Messages)-1])
		row.PromptMessages = c.Row.PromptMessages
	}
	row.Messages[len(row.Messages)-1].ToolCalls = said.Calls
	return row
}

// members returns the rows that are scored together with a trial, and which of them is its own.
func (t *Target) members(x *Trial, group string) (own int, rows []*rl.Trajectory) {
	if !t.compares() {
		return 0, []*rl.Trajectory{x.Row}
	}
	for _, m := range t.Cases[x.Case].group {
		row := *m
		row.Group = group
		rows = append(rows, &row)
	}
	x.Row.Group = group
	own = min(2, len(rows))
	return own, slices.Insert(rows, own, x.Row)
}

// relate places the score of a trial between those of wrong and right replies.
func (t *Target) relate(x *Trial, found []reward.Evaluation, rows []*rl.Trajectory, at int) {
	if x.Found.Outcome != reward.Scored {
		return
	}
	c := t.Cases[x.Case]
	right, floor, known := c.Right, c.Floor, c.Known
	if t.compares() {
		right, floor, known = beside(found, rows, at)
	}
	x.Right = right
	t.best = max(t.best, x.Score())
	switch {
	case known:
		x.Relative = (x.Score() - floor) / (right - floor)
	case t.best > 0 && x.Score() >= t.top()-1e-9: // also of a reward that gives every reply the same
		x.Relative = 1
	case x.Score() > floor:
		x.Relative = (x.Score() - floor) / (t.top() - floor)
	}
}

// top is what a right reply earns at least where none is known: 1, or 0 of a reward that only takes away.
func (t *Target) top() float64 {
	if t.best <= 0 {
		return 0
	}
	return max(1, t.best)
}

// beside returns the highest and the lowest score of the other members of a group.
func beside(found []reward.Evaluation, rows []*rl.Trajectory, at int) (right, floor float64, known bool) {
	first := true
	for i, row := range rows {
		if i == at || row.Group != rows[at].Group || found[i].Outcome != reward.Scored {
			continue
		}
		score := found[i].Result.Score
		if first {
			right, floor, first = score, score, false
		}
		right, floor = max(right, score), min(floor, score)
	}
	return right, floor, right > floor+1e-9
}

// On tries a reply on every task.
func (t *Target) On(ctx context.Context, r reply.Reply) ([]*Trial, error) {
	trials := make([]*Trial, len(t.Cases))
	for i := range t.Cases {
		trials[i] = &Trial{Case: i, Reply: r}
	}
	return trials, t.Score(ctx, trials)
}
