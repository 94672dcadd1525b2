package view

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/internal/rubric"
)

// Sheet is a rubric with its results for the outputs.
type Sheet struct {
	Name        string
	Description string
	Rows        []Row
	Hidden      int    // number of criteria that are not shown
	Totals      []Cell // by output; empty if the rubric was not applied
}

// Row is a criterion.
type Row struct {
	Name, Description string
	Weight            float64
	Question          string
	Language, Code    string
	Lines             int // lines of the code
	Cells             []Cell
	Failures          []Failure
	Constant, Vacuous bool
}

// Bar returns the length of the weight's bar out of 100.
func (r Row) Bar() int { return int(100*min(max(r.Weight, 0), 1) + 0.5) }

// Cell is a verdict on one output.
type Cell struct {
	Number int    // number of the output, from 1
	Class  string // s0 … s4 by score, or failed without a score
	Text   string
	Title  string
}

// Failure is the reason why outputs have no score.
type Failure struct {
	Outcome string
	Reason  string // reason of the first one
	Outputs []int  // from 1
}

// newSheet joins a rubric with its evaluation, either of which may be nil: an evaluation alone
// has only names and weights. It returns nil without both.
func newSheet(r *rubric.Rubric, e *rubric.Evaluation) *Sheet {
	if r == nil && e == nil {
		return nil
	}
	if r == nil {
		r = &rubric.Rubric{}
		for _, c := range e.Criteria {
			r.Criteria = append(r.Criteria, rubric.Criterion{Name: c.Name, Weight: c.Weight})
		}
	}
	s := &Sheet{Name: r.Name, Description: r.Description, Hidden: max(0, len(r.Criteria)-maxCriteria)}
	for i, c := range r.Criteria[:len(r.Criteria)-s.Hidden] {
		row := Row{
			Name: c.Name, Description: c.Description, Weight: c.Weight, Question: c.Rule.Question,
			Language: string(c.Rule.Language), Code: c.Rule.Code, Lines: 1 + strings.Count(strings.TrimSpace(c.Rule.Code), "\n"),
		}
		if e != nil && i < len(e.Criteria) {
			row.apply(e.Criteria[i])
		}
		s.Rows = append(s.Rows, row)
	}
	if e != nil {
		for i, total := range e.Totals[:min(len(e.Totals), maxOutputs)] {
			why := ""
			if total == nil {
				why = "no total: a criterion has no score"
			}
			s.Totals = append(s.Totals, newCell(i+1, total, why))
		}
	}
	return s
}

// apply sets the results of the criterion.
func (r *Row) apply(result rubric.Result) {
	r.Constant, r.Vacuous = result.Constant, result.Vacuous
	at := map[reward.Outcome]int{}
	for i, v := range result.Verdicts[:min(len(result.Verdicts), maxOutputs)] {
		score, why := v.Score, v.Reason
		if v.Outcome != reward.Scored {
			score, why = nil, strings.TrimSuffix(string(v.Outcome)+": "+v.Reason, ": ")
			k, ok := at[v.Outcome]
			if !ok {
				k = len(r.Failures)
				at[v.Outcome] = k
				r.Failures = append(r.Failures, Failure{Outcome: string(v.Outcome), Reason: v.Reason})
			}
			r.Failures[k].Outputs = append(r.Failures[k].Outputs, i+1)
		}
		r.Cells = append(r.Cells, newCell(i+1, score, why))
	}
}

// newCell returns the cell of a score from 0 to 1, or of a missing score.
func newCell(number int, score *float64, why string) Cell {
	c := Cell{Number: number, Class: "failed", Text: "✕", Title: fmt.Sprintf("output %d", number)}
	if score != nil {
		c.Class, c.Text = fmt.Sprintf("s%d", shade(*score)), short(*score)
		c.Title += ": " + strconv.FormatFloat(*score, 'g', 4, 64)
	}
	if why != "" {
		c.Title += ", " + why
	}
	return c
}

// shade returns 0 for 0, 4 for 1, and a number between them by size.
func shade(x float64) int {
	switch {
	case !(x > 0):
		return 0
	case x >= 1:
		return 4
	}
	return 1 + int(3*x)
}

// short formats a score in at most three characters.
func short(x float64) string {
	text := strconv.FormatFloat(x, 'f', 2, 64)
	text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	if text == "0" || text == "-0" {
		return "0"
	}
	return strings.TrimPrefix(text, "0")
}
