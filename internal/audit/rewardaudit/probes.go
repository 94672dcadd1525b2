package rewardaudit

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/audit/tasks"
	"github.com/merit-rl/merit/internal/outcomes"
)

// kind is what a probe is.
type kind string

// The kinds of probes.
const (
	recorded  kind = "recorded"
	right     kind = "right"
	empty     kind = "empty"
	random    kind = "random"
	truncated kind = "truncated"
	other     kind = "other"
	many      kind = "many"
	hack      kind = "hack"
	echo      kind = "echo"
	hostile   kind = "hostile"
	spaces    kind = "spaces"
	cased     kind = "case"
	longRight kind = "long right"
	longWrong kind = "long wrong"
	swapped   kind = "swapped"  // the right reply, beside another truth
	missing   kind = "missing"  // the right reply, without a truth
	blank     kind = "blank"    // the right reply, beside an empty truth
	canary    kind = "canary"   // the right reply, beside a truth that is nowhere else
	permuted  kind = "permuted" // the right reply to permuted options
	position  kind = "position" // the old letter, beside permuted options
)

// probe is a reply to a task and its evaluation.
type probe struct {
	kind  kind
	text  string
	task  *task
	row   *rl.Trajectory
	found reward.Evaluation
}

func (p *probe) scored() bool   { return p.found.Outcome == reward.Scored }
func (p *probe) score() float64 { return p.found.Result.Score }

// String names the probe and its score, for evidence.
func (p *probe) String() string {
	text := fmt.Sprintf("%.60q", p.text)
	if p.scored() {
		return fmt.Sprintf("task %s: the reply %s scored %g", p.task.Row.ID, text, p.score())
	}
	return fmt.Sprintf("task %s: the reply %s ended as %s: %.120s", p.task.Row.ID, text, p.found.Outcome, outcomes.Said(p.found.Reason))
}

// maker makes probes of one reward.
type maker struct {
	info reward.Info
	all  []*probe
}

// add makes a probe; truth is as in task.with.
func (m *maker) add(t *task, k kind, text string, truth json.RawMessage) *probe {
	p := &probe{kind: k, text: text, task: t, row: t.With(m.info, fmt.Sprintf("%d", len(m.all)), text, truth)}
	m.all = append(m.all, p)
	return p
}

// record adds a recorded row unchanged.
func (m *maker) record(t *task, row *rl.Trajectory) {
	same := *row
	same.ID = fmt.Sprintf("%d", len(m.all))
	m.all = append(m.all, &probe{kind: recorded, text: tasks.Reply(row), task: t, row: &same})
}

// rightReplies probes every form of the right answer.
func (m *maker) rightReplies(t *task) {
	for _, row := range t.Rows[:min(len(t.Rows), 4)] {
		if form := tasks.FormOf(tasks.Reply(row), t.Answers); form != "" {
			m.add(t, right, tasks.Fill(form, t.Answer()), nil)
		}
	}
	for _, answer := range t.Answers {
		for _, form := range tasks.Forms {
			m.add(t, right, tasks.Fill(form, answer), nil)
		}
	}
}

// wrongReplies probes replies that must fail, and variants of the right one. The oracle is known.
func (m *maker) wrongReplies(t *task, others []*task) {
	for _, text := range []string{"", " \n"} {
		m.add(t, empty, text, nil)
	}
	m.add(t, random, "Perhaps wumble the frobnicated zyxqv of a brontide.", nil)
	for _, text := range tasks.Hacks {
		if !t.Says(text) {
			m.add(t, hack, text, nil)
		}
	}
	for _, text := range tasks.Hostiles {
		m.add(t, hostile, text, nil)
	}
	m.add(t, echo, t.Prompt, nil)
	m.add(t, missing, t.oracle.text, json.RawMessage{})
	if t.form != "" {
		m.nearReplies(t, others)
	}
	for _, k := range others {
		if k != t && k.Truth != nil && string(k.Truth) != string(t.Truth) {
			m.add(t, swapped, t.oracle.text, k.Truth)
			break
		}
	}
}

// nearReplies probes replies in the form of the right one.
func (m *maker) nearReplies(t *task, others []*task) {
	answer := t.Answer()
	in := func(k kind, answer string) { m.add(t, k, tasks.Fill(t.form, answer), nil) }
	in(empty, "")
	if wrong := tasks.Another(answer, 0); tasks.Differ(answer, wrong) || !tasks.Words.MatchString(answer) {
		in(random, wrong)
		m.add(t, longWrong, tasks.Filler+"\n"+tasks.Fill(t.form, wrong), nil)
		m.add(t, longWrong, tasks.Fill(t.form, wrong)+"\n"+strings.Repeat("Next, ", 3)+tasks.Filler, nil)
	}
	for _, k := range others {
		if len(k.Answers) > 0 && tasks.Differ(k.Answer(), answer) {
			in(other, k.Answer())
		}
	}
	for _, text := range tasks.Longer(answer) {
		in(other, text)
	}
	for _, text := range tasks.Beginnings(answer) {
		in(truncated, text)
	}
	for _, text := range lists(answer, t.form) {
		m.add(t, many, text, nil)
	}
	right := tasks.Fill(t.form, answer)
	for _, text := range []string{right + "\n", right + " ", "\n" + right, strings.ReplaceAll(right, "\n", "\r\n"), tasks.Fill(t.form, " "+answer+" ")} {
		m.add(t, spaces, text, nil)
	}
	if tasks.Words.MatchString(answer) && strings.ToUpper(answer) != strings.ToLower(answer) {
		in(cased, strings.ToUpper(answer))
		in(cased, strings.ToLower(answer))
	}
	m.add(t, longRight, tasks.Filler+"\n"+right, nil)
	m.add(t, swapped, right, tasks.Raw(tasks.Another(answer, 1), t.Truth))
	m.add(t, blank, right, tasks.Raw("", t.Truth))
	m.add(t, canary, right, tasks.Raw(canaryText, t.Truth))
	m.options(t)
}

// canaryText is a truth that no text contains by accident.
const canaryText = "canary 3f9c51d7"

// lists returns replies with many answers. The right one is neither the first nor the last.
func lists(answer, form string) []string {
	if _, isNumber := tasks.Number(answer); !isNumber && !tasks.Words.MatchString(answer) {
		return nil
	}
	all := []string{tasks.Another(answer, 0), tasks.Another(answer, 2), answer, tasks.Another(answer, 4), tasks.Another(answer, 1)}
	for i, text := range all {
		if i != 2 && !tasks.Differ(text, answer) && len(answer) != 1 {
			return nil
		}
	}
	var each []string
	for _, text := range all {
		each = append(each, tasks.Fill(form, text))
	}
	return []string{tasks.Fill(form, strings.Join(all, ", ")), tasks.Fill(form, strings.Join(all, " or ")), strings.Join(each, "\n")}
}

// GivenAway reports whether a prompt says the answer of a ground truth, marked as such.
func GivenAway(prompt string, truth json.RawMessage) bool {
	t := &task{Task: &tasks.Task{Prompt: prompt, Answers: tasks.AnswersOf(truth)}}
	return len(t.Answers) > 0 && t.givenAway()
}
