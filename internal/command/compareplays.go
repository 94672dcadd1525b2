package command

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/merit-rl/merit/core/config"
	"github.com/merit-rl/merit/core/evidence"
	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/run"
	"github.com/merit-rl/merit/internal/cli/show"
	"github.com/merit-rl/merit/internal/cli/terminal"
	"github.com/merit-rl/merit/internal/data/jsonl"
	"github.com/merit-rl/merit/internal/labels/preference"
	"github.com/merit-rl/merit/internal/runs/advice"
	"github.com/merit-rl/merit/internal/runs/measure"
)

// isFile reports whether path is a file. A measurement is a file; a run is a folder.
func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && (info.Mode().IsRegular() || jsonl.IsForeign(path))
}

// played is a measurement in a comparison, with its difference from the first.
type played struct {
	Name       string               `json:"file"`
	Player     string               `json:"policy"`
	Score      run.Score            `json:"score"`
	Difference *evidence.Comparison `json:"difference,omitempty"`
	Preference *preference.Result   `json:"preference,omitempty"` // of raters, over the first
	Tasks      []evidence.Task      `json:"tasks,omitempty"`
	Look       []string             `json:"look,omitempty"` // what the episodes show
}

// measured reads what to compare: measurements, the trained policies of runs, or, for a
// single run, the policies before and after training.
func (o *compareOptions) measured(paths []string) (names []string, all []*run.Evaluation, err error) {
	if len(paths) == 1 {
		before, after, err := measure.OfRun(paths[0])
		if err != nil {
			return nil, nil, err
		}
		return []string{before.Player.Before(), paths[0]}, []*run.Evaluation{before, after}, nil
	}
	var problems []error
	for _, path := range paths {
		e, err := o.one(path)
		names, all, problems = append(names, path), append(all, e), append(problems, err)
	}
	return names, all, errors.Join(problems...)
}

// one reads a measurement, or the scores that another tool stored.
func (o *compareOptions) one(path string) (*run.Evaluation, error) {
	if !jsonl.IsForeign(path) {
		e, _, err := measure.Read(path)
		return e, err
	}
	e, notes, err := measure.Given(path)
	o.host.Notes(notes)
	return e, err
}

// passAt estimates pass@k of each measurement for the k of --pass-at.
func (o *compareOptions) passAt(names []string, all []*run.Evaluation) error {
	if len(o.PassAt) == 0 {
		return nil
	}
	var problems []error
	for i, e := range all {
		most := strconv.Itoa(slices.Max(o.PassAt))
		err := e.PassAt(o.PassAt, "play more attempts at each start, and compare these files: merit policy measure --policy RUN --attempts "+most+" --out FILE")
		if f := fault.As(err); f != nil {
			f.Where = names[i]
		}
		problems = append(problems, err)
	}
	return errors.Join(problems...)
}

// plays compares each measurement with the first.
func (o *compareOptions) plays(names []string, all []*run.Evaluation) ([]played, error) {
	var out []played
	var problems []error
	for i, e := range all {
		p := played{Name: names[i], Player: e.Player.String(), Score: e.Score}
		if i > 0 {
			thresholds, err := o.thresholds(names[i], e)
			if err == nil {
				p.Difference = new(evidence.Comparison)
				*p.Difference, err = evidence.Compare(all[0], e, thresholds)
				p.Look = advice.Look(all[0], e, *p.Difference)
			}
			problems = append(problems, err)
			for _, metric := range o.ByTask {
				p.Tasks = append(p.Tasks, evidence.ByTask(all[0], e, metric)...)
			}
		}
		out = append(out, p)
	}
	return out, errors.Join(problems...)
}

// thresholds returns the thresholds of --config, or else of the measured configuration.
func (o *compareOptions) thresholds(name string, e *run.Evaluation) (evidence.Config, error) {
	text := []byte(e.Config)
	if o.Config != "" {
		var err error
		if text, err = config.Read(o.Config); err != nil {
			return evidence.Config{}, err
		}
	}
	return measure.Thresholds(cmp.Or(o.Config, name), text, o.Set...)
}

// printPlays prints the measurements next to each other, and how each differs from the
// first.
func (o *compareOptions) printPlays(all []played) error {
	t := terminal.Table{Head: []string{"measurement", "policy", "success", "difference", "95 %", "p", "return", "difference", "95 %"}}
	if slices.ContainsFunc(all, func(p played) bool { return p.Score.Wins != nil }) {
		t.Head = append(t.Head, "win rate", "95 %", "Bradley–Terry", "95 %")
	}
	for _, p := range all {
		row := []string{p.Name, p.Player, terminal.Percent(p.Score.Success), "", "", "", fmt.Sprintf("%.3f", p.Score.Return), "", ""}
		if d := p.Difference; d != nil {
			success, _ := d.Metric(evidence.Success)
			returns, _ := d.Metric(evidence.Return)
			s, r := show.Difference(success), show.Difference(returns)
			copy(row[3:], []string{s.Difference, s.Interval, s.P})
			copy(row[7:], []string{r.Difference, r.Interval})
		}
		row = append(row, won(p.Score)...)
		t.Add(row...)
	}
	if err := t.Write(o.host.Stdout); err != nil {
		return err
	}
	for _, p := range all[1:] {
		if err := o.printDifference(all[0].Name, p); err != nil {
			return err
		}
	}
	return nil
}

// won returns the cells of a win rate, none without one.
func won(s run.Score) []string {
	w := s.Wins
	if w == nil {
		return nil
	}
	return []string{
		terminal.Percent(w.Rate), fmt.Sprintf("[%.1f, %.1f]", 100*w.Interval[0], 100*w.Interval[1]),
		fmt.Sprintf("%+.2f", w.Strength), fmt.Sprintf("[%.2f, %.2f]", w.StrengthInterval[0], w.StrengthInterval[1]),
	}
}

// printDifference prints every metric of a comparison, the tests, and the verdict.
func (o *compareOptions) printDifference(first string, p played) error {
	c := p.Difference
	t := terminal.Table{Head: []string{"metric", first, p.Name, "difference", "95 %", "effect", "p", ""}}
	var tests []string
	for _, d := range c.Metrics {
		if !slices.Contains(tests, d.Test) {
			tests = append(tests, d.Test)
		}
		x := show.Difference(d)
		t.Add(d.Name, x.Before, x.After, x.Difference, x.Interval, x.Effect, x.P, fmt.Sprintf("(%d)", 1+slices.Index(tests, d.Test)))
	}
	if _, err := fmt.Fprintln(o.host.Stdout); err != nil {
		return err
	}
	if err := t.Write(o.host.Stdout); err != nil {
		return err
	}
	text := fmt.Sprintf("%d episodes with a score in both\n", c.Before)
	if !c.Paired {
		text = fmt.Sprintf("%d and %d episodes with a score; they did not play the same starts, so the comparison is unpaired\n", c.Before, c.After)
	}
	for _, note := range c.Notes {
		text += note + "\n"
	}
	units := "starts"
	if all := p.Score.Clusters; all > 0 {
		units = fmt.Sprintf("the %d tasks", all)
	}
	for i, name := range tests {
		text += fmt.Sprintf("(%d) %s\n", i+1, name)
	}
	if err := o.printTasks(first, p); err != nil {
		return err
	}
	if _, err := fmt.Fprintf(o.host.Stdout, "\n%s95 %% by bootstrap of %s (BCa); effect is Cohen's h of shares, Hedges' g of the rest\n\n%s\n", text, units, terminal.Clean(c.Verdict.Sentence)); err != nil {
		return err
	}
	if p.Preference != nil {
		fmt.Fprintln(o.host.Stdout)
	}
	if err := o.printPreference(first, p.Name, p.Preference); err != nil {
		return err
	}
	return o.printAdvice(first, p)
}

// printTasks prints the metrics of --by-task, one row per task, or why there are none.
func (o *compareOptions) printTasks(first string, p played) error {
	if len(o.ByTask) == 0 {
		return nil
	}
	if len(p.Tasks) == 0 {
		_, err := fmt.Fprintf(o.host.Stdout, "\nno task has %s in both: measure with train.cluster: task, and check the spelling of the metric\n", terminal.Clean(strings.Join(o.ByTask, ", ")))
		return err
	}
	t := terminal.Table{Head: []string{"task", "metric", "episodes", first, p.Name, "difference"}}
	for _, x := range p.Tasks {
		t.Add(terminal.Clean(x.Name), terminal.Clean(x.Metric), strconv.Itoa(x.Episodes), fmt.Sprintf("%.3f", x.Before), fmt.Sprintf("%.3f", x.After), fmt.Sprintf("%+.3f", x.After-x.Before))
	}
	if _, err := fmt.Fprintln(o.host.Stdout); err != nil {
		return err
	}
	return t.Write(o.host.Stdout)
}

// printMetrics prints the metrics of the environments and rewards.
func (o *compareOptions) printMetrics(columns []string, scores []run.Score) error {
	metrics := run.MetricNames(scores...)
	if len(metrics) == 0 {
		return nil
	}
	t := terminal.Table{Head: []string{"metric"}}
	for _, c := range columns {
		t.Head = append(t.Head, c, "95 %")
	}
	for _, name := range metrics {
		row := []string{name}
		for _, s := range scores {
			row = append(row, show.Metric(s, name)...)
		}
		t.Add(row...)
	}
	if _, err := fmt.Fprintln(o.host.Stdout); err != nil {
		return err
	}
	return t.Write(o.host.Stdout)
}
