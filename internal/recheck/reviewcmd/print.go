package reviewcmd

import (
	"cmp"
	"fmt"
	"strconv"

	"github.com/merit-rl/merit/internal/cli/terminal"
	"github.com/merit-rl/merit/internal/recheck/review"
)

func (o *diffOptions) print(r *review.Review) error {
	if err := o.summary(r); err != nil {
		return err
	}
	var tables []terminal.Table
	outcomes := terminal.Table{Head: []string{"outcome", "before", "now", "reason"}}
	for _, c := range o.most(len(r.Outcomes)) {
		x := r.Outcomes[c]
		outcomes.Add(terminal.Clean(x.ID), string(x.A), string(x.B), terminal.Clean(cmp.Or(x.ReasonB, x.ReasonA)))
	}
	scores := terminal.Table{Head: []string{"score", "before", "now", "change"}}
	for _, c := range o.most(len(r.Scores)) {
		x := r.Scores[c]
		scores.Add(terminal.Clean(x.ID), number(x.A), number(x.B), change(x.B-x.A))
	}
	steps := terminal.Table{Head: []string{"step reward", "step_index", "before", "now"}}
	for _, c := range o.most(len(r.Steps)) {
		x := r.Steps[c]
		steps.Add(terminal.Clean(x.ID), strconv.Itoa(x.Index), given(x.A), given(x.B))
	}
	tables = append(tables, outcomes, scores, steps)
	if r.Advantages != nil {
		t := terminal.Table{Head: []string{"advantage", "step", "before", "now", "change", ""}}
		for _, c := range o.most(len(r.Advantages.Changed)) {
			x := r.Advantages.Changed[c]
			sign := ""
			if x.Flips() {
				sign = "changed sign"
			}
			t.Add(terminal.Clean(x.Trajectory), strconv.Itoa(x.Step), number(x.A), number(x.B), change(x.B-x.A), sign)
		}
		tables = append(tables, t)
	}
	for _, t := range tables {
		if len(t.Rows) == 0 {
			continue
		}
		if _, err := fmt.Fprintln(o.host.Stdout); err != nil {
			return err
		}
		if err := t.Write(o.host.Stdout); err != nil {
			return err
		}
	}
	return nil
}

// summary prints how much changed.
func (o *diffOptions) summary(r *review.Review) error {
	t := terminal.Table{Head: []string{"", terminal.Clean(r.A.Name), terminal.Clean(r.B.Name)}}
	t.Add("trajectories", strconv.Itoa(r.A.Trajectories), strconv.Itoa(r.B.Trajectories))
	t.Add("scored", strconv.Itoa(r.A.Scored), strconv.Itoa(r.B.Scored))
	t.Add("mean score", given(r.A.Mean), given(r.B.Mean))
	if len(r.OnlyA)+len(r.OnlyB) > 0 {
		t.Add("only in this file", strconv.Itoa(len(r.OnlyA)), strconv.Itoa(len(r.OnlyB)))
	}
	if err := t.Write(o.host.Stdout); err != nil {
		return err
	}
	var n terminal.Table
	of := func(what string, count int) { n.Add(what, fmt.Sprintf("%d of %d trajectories", count, r.Compared)) }
	of("changed outcome", len(r.Outcomes))
	of("changed score", len(r.Scores))
	of("changed metrics", r.Metrics)
	of("changed reason", r.Reasons)
	n.Add("changed step rewards", strconv.Itoa(len(r.Steps)))
	if a := r.Advantages; a != nil {
		n.Add("changed advantage", fmt.Sprintf("%d of %d steps in %d groups (%s), %d of them with the opposite sign", len(a.Changed), a.Steps, a.Groups, a.Estimator, a.Flipped))
	}
	return n.Write(o.host.Stdout)
}

// most returns the positions of the rows that are shown out of n.
func (o *diffOptions) most(n int) []int {
	if o.Limit > 0 {
		n = min(n, o.Limit)
	}
	at := make([]int, n)
	for i := range at {
		at[i] = i
	}
	return at
}

func number(x float64) string { return strconv.FormatFloat(x, 'g', 6, 64) }

func change(x float64) string { return fmt.Sprintf("%+.6g", x) }

func given(x *float64) string {
	if x == nil {
		return "none"
	}
	return number(*x)
}
