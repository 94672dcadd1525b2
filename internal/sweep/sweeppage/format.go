package sweeppage

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/merit-rl/merit/internal/sweep"
)

// Shower returns a function that formats values of a measure: shares in percent.
func Shower(measure string) func(float64) string {
	if measure == "return" || measure == "length" {
		return func(v float64) string { return strconv.FormatFloat(v, 'g', 3, 64) }
	}
	return func(v float64) string { return fmt.Sprintf("%.1f %%", 100*v) }
}

// short is like show, without a zero after the decimal point, for axes.
func short(show func(float64) string) func(float64) string {
	return func(v float64) string { return strings.Replace(show(v), ".0 ", " ", 1) }
}

// Steps formats a number of steps: 250 k, 1 M.
func Steps(n float64) string {
	unit := ""
	switch {
	case n >= 1e6:
		n, unit = n/1e6, " M"
	case n >= 1e3:
		n, unit = n/1e3, " k"
	}
	return strconv.FormatFloat(n, 'g', 4, 64) + unit
}

// interval formats an estimate: 81.2 % [80.0, 82.4].
func interval(e sweep.Estimate, show func(float64) string) string {
	bare := func(v float64) string { return strings.TrimSuffix(show(v), " %") }
	if e.High == e.Low {
		return show(e.Mean)
	}
	return fmt.Sprintf("%s [%s, %s]", show(e.Mean), bare(e.Low), bare(e.High))
}

// points formats a difference of shares in percentage points, with its sign.
func points(e sweep.Estimate, measure string) string {
	signed := func(v float64) string {
		if measure == "return" || measure == "length" {
			return fmt.Sprintf("%+.3g", v)
		}
		return fmt.Sprintf("%+.1f", 100*v)
	}
	if e.High == e.Low {
		return signed(e.Mean)
	}
	return fmt.Sprintf("%s [%s, %s]", signed(e.Mean), signed(e.Low), signed(e.High))
}

// Cells returns the table of settings on one task: head and rows.
func Cells(b sweep.Beside, measure string) (head []string, rows [][]string) {
	show := Shower(measure)
	head = []string{"setting", "seeds", "mean of the curve"}
	for _, steps := range b.Budgets {
		head = append(head, "at "+Steps(float64(steps)))
	}
	versus := "difference of means"
	for _, r := range b.Rows {
		if r.Setting == b.Against {
			versus = "mean against " + r.Title
		}
	}
	head = append(head, versus, "seeds ahead", "p", "p (Holm)", "test, best checkpoint", "alone in anchor")
	for _, r := range b.Rows {
		row := []string{r.Title, strconv.Itoa(len(b.Seeds)), interval(r.Mean, show)}
		for _, e := range r.At {
			row = append(row, interval(e, show))
		}
		difference, ahead, p, adjusted := "", "", "", ""
		if d := r.Difference; d != nil {
			difference, ahead = points(d.Mean, measure), fmt.Sprintf("%d of %d", d.Won, len(b.Seeds))
			p, adjusted = fmt.Sprintf("%.2g", d.P), fmt.Sprintf("%.2g", d.Adjusted)
		}
		rows = append(rows, append(row, difference, ahead, p, adjusted, interval(r.Test, Shower(sweep.Success)), anchors(r)))
	}
	return used(head, rows)
}

// Choices returns the table of what tuning chose: a row for each setting on each task, with the
// mean of the curve of each choice. It is empty if the study has no tuning.
func Choices(r *sweep.Results) (head []string, rows [][]string) {
	head = append([]string{"task", "setting", "chosen"}, r.Choices...)
	for _, t := range r.Tuned {
		row := []string{t.Task, t.Setting, t.Choice}
		for _, e := range t.Means {
			row = append(row, Shower(sweep.Success)(e.Mean))
		}
		rows = append(rows, row)
	}
	return head, rows
}

// used removes the columns that are empty in every row.
func used(head []string, rows [][]string) (short []string, all [][]string) {
	all = make([][]string, len(rows))
	for c, name := range head {
		if !slices.ContainsFunc(rows, func(row []string) bool { return row[c] != "" }) {
			continue
		}
		short = append(short, name)
		for i, row := range rows {
			all[i] = append(all[i], row[c])
		}
	}
	return short, all
}

// anchors formats the share of steps that are alone in their anchor group, for a setting
// with such groups.
func anchors(r sweep.Row) string {
	if r.Anchors.Mean == 0 {
		return ""
	}
	return Shower("")(r.Anchors.Mean)
}
