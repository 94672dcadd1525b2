package rubric

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/merit-rl/merit/internal/rubric"
	"github.com/merit-rl/merit/plugins/internal/rubric/internal/stakeholder"
	"github.com/merit-rl/merit/sdk/plugin"
)

// episode is what both forms have in common: a stakeholder, what was said, and
// an end at which workers do the task.
type episode struct {
	env     *environment
	start   *start
	talk    *stakeholder.Talk
	written rubric.Written
	refused int // questions for the whole rubric
	steps   int
	over    bool
}

// begin starts the episode of a seed.
func (e *episode) begin(seed uint64, turn *plugin.Turn) error {
	s, err := e.env.source.start(seed)
	if err != nil {
		return err
	}
	*e = episode{env: e.env, start: s, talk: stakeholder.New(s.truth), written: rubric.Written{Questions: []string{}}}
	truth, err := s.truth.GroundTruth(e.env.options.Workers.Count)
	if err != nil {
		return err
	}
	return turn.Task(&plugin.Task{ID: s.id, GroundTruth: truth})
}

// hear keeps a question with its answer.
func (e *episode) hear(question string, a stakeholder.Answer) error {
	if e.env.voice != nil {
		var err error
		if a, err = e.env.voice.Say(context.Background(), e.talk, question, a); err != nil {
			return err
		}
	}
	if a.Kind == stakeholder.Refused {
		e.refused++
	}
	e.talk.Note(a.Criterion)
	e.written.Questions = append(e.written.Questions, question)
	e.written.Answers = append(e.written.Answers, a.Text)
	return nil
}

// questionsLeft is how many may still be asked.
func (e *episode) questionsLeft() int { return e.env.options.Questions - len(e.written.Questions) }

// questionsFirst is how many must still be asked before a rubric may be written.
func (e *episode) questionsFirst() int {
	return max(0, e.env.options.MinQuestions-len(e.written.Questions))
}

// finish ends the episode: the workers do the task, and what the reward needs is
// attached to the step. R is nil if no rubric was written, for the reason problem.
func (e *episode) finish(r *rubric.Rubric, problem string, turn *plugin.Turn) error {
	e.written.Rubric, e.written.Problem = r, problem
	workflow, err := e.env.workflow(e.start.task)
	if err != nil {
		return err
	}
	if err := turn.Info(rubric.InfoWritten, e.written); err != nil {
		return err
	}
	if err := turn.Info(rubric.InfoWorkflow, workflow); err != nil {
		return err
	}
	// Questions and criteria are counted by the reward, which is paid for them.
	turn.Metric("attempts", float64(e.written.Attempts))
	turn.Metric("repairs", float64(len(e.written.Repairs)))
	turn.Metric("told", float64(e.talk.Count()))
	turn.Metric("refused", float64(e.refused))
	e.over, turn.Terminated = true, true
	clear(turn.Mask)
	return nil
}

// said appends what can be known without the rubric so far: the task, the brief
// and the answers.
func (e *episode) said(b []byte) []byte {
	b = fmt.Appendf(b, "Work: %s\n\nThe stakeholder says: %s\n", strings.TrimSpace(e.start.task.Text), strings.TrimSpace(e.start.truth.Brief))
	for i, q := range e.written.Questions {
		b = fmt.Appendf(b, "\nYou asked: %s\nThe stakeholder says: %s\n", q, e.written.Answers[i])
	}
	return b
}

// closing is the last observation. It says nothing of the truth, of what the
// workers made or of what that is worth.
func (e *episode) closing(turn *plugin.Turn) {
	turn.Anchor = append(e.said(turn.Anchor), "\nThe workers have the task now."...)
	if r := e.written.Rubric; r != nil {
		raw, err := json.Marshal(r)
		if err == nil {
			turn.Anchor = append(append(turn.Anchor, '\n'), raw...)
		}
	}
	turn.Text = append(turn.Text, "The workers have the task now, and what they make is judged."...)
}

// String shows for people what was said and written.
func (e *episode) String() string {
	if e.start == nil {
		return "no episode has begun"
	}
	return string(e.said(nil))
}
