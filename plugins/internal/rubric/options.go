package rubric

import (
	"errors"
	"fmt"
	"slices"

	"github.com/merit-rl/merit/plugins/internal/rubric/internal/catalogue"
	"github.com/merit-rl/merit/plugins/internal/rubric/internal/work"
	"github.com/merit-rl/merit/sdk/plugin"
)

// The forms of an action.
const (
	formChoice = "choice" // one of a list of questions and criteria
	formJSON   = "json"   // free text of JSON
)

// Options are the options that a user may set. A range is [least, most].
type Options struct {
	Form         string        `json:"form"`          // choice or json
	Rubrics      string        `json:"rubrics"`       // folder with the truths that people wrote, in train and heldout; empty = all are drawn
	Drawn        float64       `json:"drawn"`         // share of the training tasks whose truth is drawn, beside those of rubrics
	Domains      []string      `json:"domains"`       // of tasks: document, table, code; empty = all
	Size         [2]int        `json:"size"`          // criteria of a drawn truth
	Hinted       float64       `json:"hinted"`        // share of the criteria of a drawn truth at which its brief hints
	Questions    int           `json:"questions"`     // at most so many are asked in an episode
	MinQuestions int           `json:"min_questions"` // so many are asked before a rubric may be written
	Criteria     int           `json:"criteria"`      // choice: at most so many are added, or made heavier
	Remove       bool          `json:"remove"`        // choice: what was added can be taken out again, at the price of an addition
	Attempts     int           `json:"attempts"`      // json: answers that are no questions, the rubric among them
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

// check returns everything that is wrong with o but for what is in its files.
func (o Options) check(split string) error {
	var p plugin.Problems
	p.Split(split)
	if o.Form != formChoice && o.Form != formJSON {
		p.Add("form", "choice suits the embedded network, json language models", "must be choice or json, not %q", o.Form)
	}
	for i, name := range o.Domains {
		if !slices.Contains(catalogue.Domains(), catalogue.Domain(name)) {
			p.Add(fmt.Sprintf("domains[%d]", i), "one of document, table, code", "%q is not a domain", name)
		}
	}
	if o.Size[0] < 1 || o.Size[1] < o.Size[0] || o.Size[1] > mostDrawn {
		p.Add("size", "write [least, most], as [3, 5]", "%v is not a range within 1 to %d", o.Size, mostDrawn)
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
		p.Add("min_questions", "1 is the default; 0 allows a rubric without questions", "must be 0 to %d, and not above questions, not %d", mostFirst, o.MinQuestions)
	}
	p.Shares(o.Shares, 0.1)
	return errors.Join(append(append(p, o.Stakeholder.check()...), under("workers", o.Workers.Validate())...)...)
}

// mostDrawn is how many criteria a drawn truth can have: each has an aspect of
// its own.
const mostDrawn = 8

// mostFirst bounds what must be asked before a rubric: every aspect of a domain
// can be asked about or was told of, so that nobody runs out of questions.
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

// maxSteps is the most that an episode takes: a question a step at worst, and the
// end is one, too.
func (o Options) maxSteps() int {
	if o.Form == formJSON {
		return o.Questions + o.Attempts
	}
	return o.Questions + o.Criteria + 1
}
