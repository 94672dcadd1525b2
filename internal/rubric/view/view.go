// Package view shows an episode in which a rubric was written: the written rubric next to the
// stakeholder's, and the results of both for the same outputs. Its HTML needs no script and no
// network, and shows texts of the episode only as text.
package view

import (
	"cmp"
	"slices"
	"strings"

	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/base/strictjson"
	"github.com/merit-rl/merit/internal/rubric"
)

// View is an episode for display. All its texts are untrusted.
type View struct {
	ID        string
	Name      string // of the stakeholder's rubric
	Brief     string // the stakeholder's first message
	Task      string // the task of the workers
	Questions []Question
	Problem   string // why there is no written rubric
	Repairs   []string
	Attempts  int
	Written   *Sheet // nil if there is none
	Truth     *Sheet // nil if it is unknown
	Outputs   []Output
	Picture   *Picture // nil unless both rubrics were applied
	Terms     []Term   // what the reward measured, in its order
	Score     *float64 // nil without a score
	Outcome   string   // of the reward; empty if there was none
	Reason    string
}

// Question is a question of the agent, with the answer.
type Question struct{ Asked, Answer string }

// Output is the output of a worker.
type Output struct {
	Number int // from 1
	Worker string
	Text   string
}

// Term is a metric of the reward. Value is nil if the reward marks it as invalid.
type Term struct {
	Name   string
	Value  *float64
	Reason string
}

// Limits of what is shown of an episode.
const (
	maxCriteria  = 24
	maxOutputs   = 24
	maxQuestions = 12
)

// truth is the part of a task's ground truth that the view reads.
type truth struct {
	Name   string         `json:"name"`
	Brief  string         `json:"brief"`
	Rubric *rubric.Rubric `json:"rubric"`
}

// From returns the view of t; ok is false if the task did not ask for a rubric. It leaves out
// parts that cannot be read.
func From(t *rl.Trajectory) (*View, bool) {
	var meant truth
	_ = strictjson.Unmarshal(t.GroundTruth, &meant) // what is not there is not shown
	written, workflow, ok := attached(t)
	kept := note(t)
	if !ok && kept == nil {
		return nil, false
	}
	v := &View{ID: t.ID, Name: meant.Name, Brief: meant.Brief, Outcome: t.Outcome}
	if kept == nil {
		kept = &rubric.Note{}
	}
	written.Problem = cmp.Or(written.Problem, kept.Written.Problem)
	said, known := kept.Written.Evaluation, kept.Truth.Evaluation
	v.tell(written)
	v.Task = workflow.Task
	for i := range workflow.Outputs[:min(len(workflow.Outputs), maxOutputs)] {
		o := &workflow.Outputs[i]
		v.Outputs = append(v.Outputs, Output{Number: i + 1, Worker: o.Worker, Text: o.Text()})
	}
	v.Written, v.Truth = newSheet(written.Rubric, said), newSheet(meant.Rubric, known)
	if v.Truth != nil && v.Name == "" {
		v.Name = v.Truth.Name
	}
	if said != nil && known != nil {
		v.Picture = newPicture(said.Totals, known.Totals)
	}
	v.judge(t)
	return v, true
}

// attached returns what the environment passed to the reward, from the last step that has it.
func attached(t *rl.Trajectory) (written rubric.Written, workflow rubric.Workflow, ok bool) {
	for i := len(t.Steps) - 1; i >= 0 && !ok; i-- {
		info := t.Steps[i].Info
		if info[rubric.InfoWritten] == nil && info[rubric.InfoWorkflow] == nil {
			continue
		}
		ok = true
		_ = strictjson.Unmarshal(info[rubric.InfoWritten], &written)
		_ = strictjson.Unmarshal(info[rubric.InfoWorkflow], &workflow)
	}
	return written, workflow, ok
}

// note returns the reward's note on both evaluations, or nil if there is none.
func note(t *rl.Trajectory) *rubric.Note {
	var names []string
	for name := range t.Notes {
		if name == rubric.NoteKey || strings.HasSuffix(name, "/"+rubric.NoteKey) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		n, err := rubric.ReadNote(t.Notes[name])
		if err == nil && (n.Written.Problem != "" || n.Written.Evaluation != nil || n.Truth.Evaluation != nil) {
			return n
		}
	}
	return nil
}

// tell sets how the rubric was written.
func (v *View) tell(w rubric.Written) {
	v.Problem, v.Repairs, v.Attempts = w.Problem, w.Repairs, w.Attempts
	for i, asked := range w.Questions[:min(len(w.Questions), maxQuestions)] {
		q := Question{Asked: asked}
		if i < len(w.Answers) {
			q.Answer = w.Answers[i]
		}
		v.Questions = append(v.Questions, q)
	}
}

// judge sets the results of the reward.
func (v *View) judge(t *rl.Trajectory) {
	e := t.Evaluation
	v.Reason = t.Error
	if e == nil {
		return
	}
	if v.Reason == "" {
		v.Reason = e.Error
	}
	if v.Reason == "" {
		v.Reason = e.Reason
	}
	if e.IsScoreValid && (t.Outcome == "" || t.Outcome == string(reward.Scored)) {
		v.Score = &e.Score
	}
	for _, m := range e.Metrics {
		term := Term{Name: m.Name, Reason: m.Reason}
		if m.IsScoreValid {
			term.Value = &m.Score
		}
		v.Terms = append(v.Terms, term)
	}
}

// Term returns the value of a metric by name, from any of the rewards; nil if there is none.
func (v *View) Term(name string) *float64 {
	for _, t := range v.Terms {
		if t.Name == name || strings.HasSuffix(t.Name, "/"+name) {
			return t.Value
		}
	}
	return nil
}
