// Package scores shows the scores of a pass over a file: a histogram, the rows with the lowest
// scores, and the rows without a score. Its memory does not grow with the file.
package scores

import (
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/core/scoring"
	"github.com/merit-rl/merit/internal/cli/terminal"
	"github.com/merit-rl/merit/internal/outcomes"
)

// An overview lists at most so many rows.
const (
	mostLowest   = 5
	mostUnscored = 10
)

// Overview collects the rows of a pass. The zero value is ready for use.
type Overview struct {
	all      histogram
	lowest   []row // in the order of their scores, rows with equal scores in file order
	ties     int   // rows that are not listed, with the score of the last row of lowest
	unscored []row // the first ones
	missing  int   // number of rows without a score
}

// row is what an overview keeps of a row.
type row struct {
	line       int
	id         string // empty if Merit made it up
	score      float64
	outcome    string
	completion string
	reason     string
}

func newRow(line int, t *rl.Trajectory, r *scoring.Result) row {
	x := row{line: line, id: t.ID, outcome: string(r.Outcome), completion: completion(t), reason: shorten(outcomes.Said(r.Reason), mostKept)}
	if t.Unnamed {
		x.id = ""
	}
	if r.Score != nil {
		x.score = *r.Score
	}
	return x
}

// Note records the next row of the file and its result.
func (o *Overview) Note(line int, t *rl.Trajectory, r *scoring.Result) {
	if r.Score == nil {
		if o.missing++; len(o.unscored) < mostUnscored {
			o.unscored = append(o.unscored, newRow(line, t, r))
		}
		return
	}
	score := *r.Score
	o.all.add(score)
	if n := len(o.lowest); n == mostLowest && score >= o.lowest[n-1].score {
		if score == o.lowest[n-1].score {
			o.ties++
		}
		return
	}
	o.insert(newRow(line, t, r))
}

// insert adds a row to the lowest ones, in place of the highest of them.
func (o *Overview) insert(x row) {
	at, _ := slices.BinarySearchFunc(o.lowest, x.score, func(r row, score float64) int {
		if r.score <= score {
			return -1
		}
		return 1
	})
	o.lowest = slices.Insert(o.lowest, at, x)
	if len(o.lowest) <= mostLowest {
		return
	}
	if o.lowest[mostLowest].score == o.lowest[mostLowest-1].score {
		o.ties++
	} else {
		o.ties = 0
	}
	o.lowest = o.lowest[:mostLowest]
}

// Page is where an overview is shown.
type Page struct {
	Style   terminal.Style
	Columns int    // width of the page; 0 means 100
	Bar     string // what bars are made of; one column wide
	Unit    string // what the file consists of: line or row
}

// Write shows the overview.
func (o *Overview) Write(w io.Writer, p Page) error {
	if p.Columns == 0 {
		p.Columns = 100
	}
	if len(o.lowest) > 0 {
		fmt.Fprintf(w, "\n%s\n", p.Style.Bold("scores"))
		if err := o.all.write(w, p); err != nil {
			return err
		}
		fmt.Fprintf(w, "\n%s\n", p.Style.Bold("lowest scores"))
		if err := p.rows(w, "score", o.lowest, func(r row) string { return format(r.score) }); err != nil {
			return err
		}
	}
	if o.ties > 0 {
		last := o.lowest[len(o.lowest)-1].score
		fmt.Fprintf(w, "%s\n", p.Style.Dim(terminal.Count(o.ties, "more "+p.Unit)+" with the score "+format(last)))
	}
	if o.missing == 0 {
		return nil
	}
	fmt.Fprintf(w, "\n%s\n", p.Style.Bold("without a score"))
	err := p.rows(w, "outcome", o.unscored, func(r row) string { return r.outcome })
	if more := o.missing - len(o.unscored); more > 0 {
		_, err = fmt.Fprintf(w, "%s\n", p.Style.Dim(terminal.Count(more, "more "+p.Unit)+" without a score"))
	}
	return err
}

// rows prints a table of rows, whose first column has its own name. It has a column of ids
// if a row has one.
func (p Page) rows(w io.Writer, first string, rows []row, value func(row) string) error {
	named := slices.ContainsFunc(rows, func(r row) bool { return r.id != "" })
	t := terminal.Table{Head: []string{first, p.Unit, "id", "completion", "reason"}}
	if !named {
		t.Head = slices.Delete(t.Head, 2, 3)
	}
	left := p.Columns - len(first) - len(p.Unit) - 24
	reason := 0
	for _, r := range rows {
		reason = max(reason, width(r.reason))
	}
	reason = min(reason, max(20, left*2/5))
	for _, r := range rows {
		cells := []string{value(r), strconv.Itoa(r.line), shorten(r.id, 16), shorten(r.completion, max(20, left-reason)), shorten(r.reason, reason)}
		if !named {
			cells = slices.Delete(cells, 2, 3)
		}
		t.Add(cells...)
	}
	return t.Write(w)
}

// format prints a score with at most six digits.
func format(x float64) string { return strconv.FormatFloat(x, 'g', 6, 64) }
