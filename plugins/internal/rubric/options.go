package rubric

import (
	"errors"
	"fmt"
	"slices"

	"github.com/merit-rl/merit/internal/rubric/catalogue"
	"github.com/merit-rl/merit/plugins/internal/rubric/internal/work"
	"github.com/merit-rl/merit/sdk/plugin"
)

// The forms of an action.
const (
	formChoice = "choice" // one of a list of questions and criteria
	formJSON   = "json"   // free text of JSON
	formNames  = "names"  // JSON that names criteria of the catalogue
)

// Options are the options that a user may set. A range is [least, most].
type Options struct {
	Form         string        `json:"form"`          // choice, json or names
	Rubrics      string        `json:"rubrics"`       // folder with the truths that people wrote, in train and heldout; empty = all are drawn
	Workflows    string        `json:"workflows"`     // file of the user's tasks, JSON Lines, each with inputs, outputs and a hidden rubric
	Drawn        float64       `json:"drawn"`         // share of the training tasks whose truth is drawn rather than from rubrics
	Domains      []string      `json:"domains"`       // of tasks: document, table, code; empty = all
	Size         [2]int        `json:"size"`          // criteria of a drawn truth
	Hinted       float64       `json:"hinted"`        // share of the criteria of a drawn truth at which its brief hints
	Questions    int           `json:"questions"`     // largest number of questions in an episode
	MinQuestions int           `json:"min_questions"` // smallest number of questions before the rubric
	Criteria     int           `json:"criteria"`      // choice: largest number of additions, including those that make a criterion heavier
	Remove       bool          `json:"remove"`        // choice: allow the removal of a criterion, which counts as an addition
	Attempts     int           `json:"attempts"`      // json: largest number of answers that are not questions, including the rubric
	Variants     int           `json:"variants"`      // workflows of a domain in training, of a truth in the other splits
	Stakeholder  Stakeholder   `json:"stakeholder"`   // who answers the questions
	Workers      work.Config   `json:"workers"`       // who does the task
	Shares       plugin.Shares `json:"shares"`        // of drawn truths that are held out
}

func defaults() Options {
	return Options{
		Form: formChoice, Drawn: 0.5, Size: [2]int{3, 5}, Hinted: 0.4, Questions: 3, MinQuestions: 1, Criteria: 8, Attempts: 2, Variants: 16,
		Stakeholder: defaultStakeholder(), Workers: work.DefaultConfig(), Shares: plugin.Shares{Validation: 0.1, Test: 0.1},
	}
}

// check returns all problems of o, except those of its files.
func (o Options) check(split string) error {
	var p plugin.Problems
	p.Split(split)
	if !slices.Contains([]string{formChoice, formJSON, formNames}, o.Form) {
		p.Add("form", "choice suits the embedded network, json and names language models", "must be choice, json or names, not %q", o.Form)
	}
	for i, name := range o.Domains {
		if !slices.Contains(catalogue.Domains(), catalogue.Domain(name)) {
			p.Add(fmt.Sprintf("domains[%d]", i), "use document, table or code", "%q is not a domain", name)
		}
	}
	if o.Size[0] < 1 || o.Size[1] < o.Size[0] || o.Size[1] > mostDrawn {
		p.Add("size", "write [least, most], such as [3, 5]", "%v is not a range within 1 to %d", o.Size, mostDrawn)
	}
	for _, share := range []struct {
		key   string
		value float64
	}{{"drawn", o.Drawn}, {"hinted", o.Hinted}} {
		if !(share.value >= 0 && share.value <= 1) { // also rejects NaN
			p.Add(share.key, "0 is never, 1 is always", "must be a share, not %v", share.value)
		}
	}
	for _, n := range []struct {
		key              string
		value, low, high int
	}{{"questions", o.Questions, 0, 10}, {"criteria", o.Criteria, 1, 40}, {"attempts", o.Attempts, 1, 10}, {"variants", o.Variants, 1, 1 << 20}} {
		if n.value < n.low || n.value > n.high {
			p.Add(n.key, "remove the key to use the default", "must be %d to %d, not %d", n.low, n.high, n.value)
		}
	}
	if most := min(o.Questions, mostFirst); o.MinQuestions < 0 || o.MinQuestions > most {
		p.Add("min_questions", "1 is the default; 0 allows a rubric without questions", "must be from 0 to %d (the smaller of questions and %d), not %d", most, mostFirst, o.MinQuestions)
	}
	p.Shares(o.Shares, 0.1)
	o.checkWorkflows(&p)
	return errors.Join(append(append(p, o.Stakeholder.check()...), under("workers", o.Workers.Validate())...)...)
}

// checkWorkflows adds the problems of options that cannot be combined with workflows, or need them.
func (o Options) checkWorkflows(p *plugin.Problems) {
	switch {
	case o.Workflows == "" && o.Workers.Kind == work.KindProgram:
		p.Add("workers.kind", "name a file of your tasks in workflows", "program does only the tasks of workflows")
	case o.Workflows == "":
	case o.Rubrics != "":
		p.Add("rubrics", "name the rubrics in the lines of workflows, as objects or paths, and remove rubrics", "has no effect with workflows")
	case len(o.Domains) > 0:
		p.Add("domains", "remove domains, or the lines of workflows that you do not want", "has no effect with workflows")
	}
}

// outputs returns the number of outputs that a task will have.
func (o Options) outputs(t *work.Task) int {
	if n := len(t.Outputs); n > 0 {
		return n
	}
	return o.Workers.Count
}

// mostDrawn is the largest number of criteria of a drawn truth: each has a different aspect.
const mostDrawn = 8

// mostFirst is the largest number of questions that must come before a rubric. Every aspect of
// a domain can be asked about or was told, so an agent does not run out of questions.
const mostFirst = catalogue.Aspects

// domains are those of tasks.
func (o Options) domains() (all []catalogue.Domain) {
	for _, d := range catalogue.Domains() {
		if len(o.Domains) == 0 || slices.Contains(o.Domains, string(d)) {
			all = append(all, d)
		}
	}
	return all
}

// maxSteps returns the largest number of steps of an episode. Each question takes a step at
// worst, and so does each attempt (form json), or each addition and the end (form choice).
func (o Options) maxSteps() int {
	if o.Form != formChoice {
		return o.Questions + o.Attempts
	}
	return o.Questions + o.Criteria + 1
}
