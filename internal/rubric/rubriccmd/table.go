package rubriccmd

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/merit-rl/merit/internal/cli/terminal"
	"github.com/merit-rl/merit/internal/rubric"
)

// print prints criteria × outputs, for one rubric or for two.
func (o *evalOptions) print(r *result) error {
	if err := o.table(&r.judged, r.Workers); err != nil {
		return err
	}
	if r.Against == nil {
		return nil
	}
	fmt.Fprintln(o.host.Stdout)
	if err := o.table(r.Against, r.Workers); err != nil {
		return err
	}
	fmt.Fprintln(o.host.Stdout)
	var t terminal.Table
	t.Add("Spearman's ρ", figure(r.Agreement.Spearman))
	t.Add("Pearson's r", figure(r.Agreement.Pearson))
	t.Add("mean |difference|", figure(r.Agreement.MeanAbsoluteDifference))
	t.Add("outputs with both totals", strconv.Itoa(r.Agreement.Outputs))
	return t.Write(o.host.Stdout)
}

// table prints one rubric, with the reasons for missing scores below.
func (o *evalOptions) table(j *judged, workers []string) error {
	t := terminal.Table{Head: []string{j.Rubric.Name, "weight"}}
	for i, worker := range workers {
		if worker == "" {
			worker = strconv.Itoa(i + 1)
		}
		t.Head = append(t.Head, worker)
	}
	for _, c := range j.Evaluation.Criteria {
		row := []string{c.Name, strconv.FormatFloat(c.Weight, 'g', 3, 64)}
		for _, v := range c.Verdicts {
			if v.Score == nil {
				row = append(row, string(v.Outcome))
			} else {
				row = append(row, figure(v.Score))
			}
		}
		switch {
		case c.Vacuous:
			row = append(row, "always holds")
		case c.Constant && len(workers) > 1:
			row = append(row, "same score for all")
		}
		t.Add(row...)
	}
	row := []string{"total", ""}
	for _, total := range j.Evaluation.Totals {
		row = append(row, figure(total))
	}
	t.Add(row...)
	if err := t.Write(o.host.Stdout); err != nil {
		return err
	}
	return o.reasons(j.Evaluation)
}

// reasons prints the reasons for missing scores, once for each criterion.
func (o *evalOptions) reasons(e *rubric.Evaluation) error {
	told := map[string]bool{}
	for _, f := range e.Failures() {
		if told[f.Criterion] {
			continue
		}
		told[f.Criterion] = true
		reason, _, _ := strings.Cut(f.Reason, "\n")
		if _, err := fmt.Fprintf(o.host.Stdout, "%s: %s: %s\n", terminal.Clean(f.Criterion), f.Outcome, terminal.Clean(reason)); err != nil {
			return err
		}
	}
	return nil
}

// figure formats a number with up to three decimals, or a dash if there is none.
func figure(x *float64) string {
	if x == nil {
		return "–"
	}
	return strconv.FormatFloat(math.Round(*x*1000)/1000, 'g', -1, 64)
}
