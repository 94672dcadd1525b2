// Package viewtest provides an episode with a rubric for tests of views.
package viewtest

import (
	"encoding/json"
	"fmt"

	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/rubric"
)

const rule = "def rule(output, task):\n    words = len(output[\"text\"].split())\n    return max(0, 1 - words / 400)\n"

// Episode returns an episode in which a rubric was written and scored. All untrusted texts in
// it end in tail. Skill, from 0 to 1, says how far the written rubric agrees with the true
// one; below 0.5, one of its rules fails.
func Episode(id, tail string, seed uint64, skill float64) *rl.Trajectory {
	truth := &rubric.Rubric{Name: "outage-report" + tail, Description: "A short report that names what was done and who does what next." + tail, Criteria: []rubric.Criterion{
		{Name: "short" + tail, Description: "Fits on half a page." + tail, Weight: 0.5, Rule: rubric.Rule{Language: rubric.Python, Code: rule + tail}},
		{Name: "actions", Description: "Every action has an owner and a date.", Weight: 0.3, Rule: rubric.Rule{Language: rubric.JavaScript, Code: "function rule(output, task) {\n  return /- \\[ \\] .+ \\(\\w+, \\d{4}-\\d\\d-\\d\\d\\)/.test(output.text)\n}"}},
		{Name: "calm", Weight: 0.2, Rule: rubric.Rule{Question: "Is it calm?" + tail}},
	}}
	w := &rubric.Written{Attempts: 2, Repairs: []string{"weights were made to sum to 1" + tail}, Questions: []string{"How long may it be?" + tail, "Who reads it?"}, Answers: []string{"I will not read more than half a page." + tail}}
	w.Rubric = &rubric.Rubric{Name: "mine", Criteria: []rubric.Criterion{
		{Name: "length" + tail, Weight: 1 - 0.6*skill, Rule: rubric.Rule{Language: rubric.Python, Code: rule}},
		{Name: "who does what", Weight: 0.6 * skill, Rule: rubric.Rule{Language: rubric.Python, Code: "def rule(output, task):\n    return \"owner\" in output[\"text\"]"}},
	}}
	work := &rubric.Workflow{Task: "Write a report of the outage." + tail}
	d := rubric.Note{Outputs: 6}
	d.Truth.Evaluation, d.Written.Evaluation = evaluation(truth), evaluation(w.Rubric)
	score := 0.0
	for i := range d.Outputs {
		work.Outputs = append(work.Outputs, rubric.Output{Worker: fmt.Sprintf("worker %d", i+1) + tail, Resources: []rubric.Resource{{Name: "report.md", Kind: rubric.Document, Text: "# Outage\n\nThe cache was full." + tail}}})
		level := float64((i*5+int(seed))%6) / 5
		g := fill(d.Truth.Evaluation, i, level, 1-level, 0.75)
		s := fill(d.Written.Evaluation, i, level, skill*(1-level))
		score -= (s - g) * (s - g)
	}
	info := map[string]json.RawMessage{rubric.InfoWritten: text(w), rubric.InfoWorkflow: text(work)}
	t := &rl.Trajectory{
		ID: id, Seed: seed, Task: "outage-report/1", StopReason: rl.StopTerminated, Outcome: string(reward.Scored),
		Messages:    []rl.Message{{Role: rl.RoleUser, Content: rl.Text("We need a report." + tail)}, {Role: rl.RoleAssistant, Content: rl.Text("done")}},
		Steps:       []rl.Step{{MessageCount: 1, ActionValid: true, Action: rl.Action{Text: "done"}, Info: info}},
		GroundTruth: text(map[string]any{"rubric": truth, "brief": "We need a report of last night. Make it something I can use." + tail}),
	}
	if skill < 0.5 {
		fail(d.Written.Evaluation, 1, tail)
		score -= float64(d.Outputs)
	}
	t.Notes = map[string]json.RawMessage{"reward/rubric": text(d)}
	t.Evaluation = &rl.EvaluateResult{Score: score, IsScoreValid: true, Reason: "as far as it goes" + tail, Metrics: rl.Metrics{
		{Name: "alignment" + tail, Score: score, IsScoreValid: true, Reason: "−‖s − g‖² over 6 outputs" + tail},
		{Name: "spearman", Score: skill, IsScoreValid: true}, {Name: "mean_absolute_difference", Score: 1 - skill, IsScoreValid: true},
		{Name: "coverage", Reason: "nothing to cover"},
	}}
	return t
}

// evaluation returns an empty evaluation of r.
func evaluation(r *rubric.Rubric) *rubric.Evaluation {
	e := &rubric.Evaluation{}
	for _, c := range r.Criteria {
		e.Criteria = append(e.Criteria, rubric.Result{Name: c.Name, Weight: c.Weight})
	}
	return e
}

// fill adds the scores of output i and returns its total.
func fill(e *rubric.Evaluation, i int, scores ...float64) float64 {
	total := 0.0
	for k := range e.Criteria {
		c := &e.Criteria[k]
		c.Verdicts = append(c.Verdicts, rubric.Verdict{Outcome: reward.Scored, Score: &scores[k]})
		c.Constant = i > 0 && (c.Constant || i == 1) && *c.Verdicts[0].Score == scores[k]
		total += c.Weight * scores[k]
	}
	e.Totals = append(e.Totals, &total)
	return total
}

// fail makes a criterion fail on all outputs except the first.
func fail(e *rubric.Evaluation, criterion int, tail string) {
	for i := 1; i < len(e.Totals); i++ {
		e.Criteria[criterion].Verdicts[i] = rubric.Verdict{Outcome: reward.OutOfFuel, Reason: "the rule used up its fuel" + tail}
		e.Totals[i] = nil
	}
}

func text(value any) json.RawMessage {
	data, err := json.Marshal(value)
	if err != nil {
		panic(err) // the value is defined in this package
	}
	return data
}
