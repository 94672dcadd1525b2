package sweep

import (
	"cmp"
	"slices"

	"github.com/merit-rl/merit/core/stats"
)

// PanelResult compares settings, task by task.
type PanelResult struct {
	Name    string   `json:"name"`
	Title   string   `json:"title"`
	Measure string   `json:"measure"`
	Tasks   []Beside `json:"tasks"`
}

// Beside compares the settings of a panel on one task. Only seeds count for which every
// setting has a finished run with a value of the measure.
type Beside struct {
	Task    string `json:"task"`
	Title   string `json:"title"`
	Budgets []int  `json:"budgets"`
	Against string `json:"against"`
	Seeds   []int  `json:"seeds"`
	Rows    []Row  `json:"rows"`
}

// Row is the result of one setting: means over seeds with 95 % intervals.
type Row struct {
	Setting string     `json:"setting"`
	Title   string     `json:"title"`
	Mean    Estimate   `json:"mean"`            // of the curve up to the last budget: the area under it
	At      []Estimate `json:"at"`              // at each budget
	Test    Estimate   `json:"test"`            // success of the best checkpoint on the test split
	Anchors Estimate   `json:"singleton_share"` // share of steps alone in their anchor group, over training
	Curve   []Band     `json:"curve"`
	// Difference is that to the panel's setting, seed by seed; nil for that setting itself.
	Difference *Difference `json:"difference,omitempty"`
}

// Estimate is a mean over seeds with its 95 % interval, by Student's t. With one seed, the
// interval has no width.
type Estimate struct {
	Mean float64 `json:"mean"`
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// Band is a point of a mean curve.
type Band struct {
	Steps float64 `json:"steps"`
	Estimate
}

// Difference is how far a setting is above another with the same seeds: the same initial
// parameters, if the networks are alike, and the same held-out starts. Each value is the
// mean of the differences over seeds.
type Difference struct {
	Mean Estimate `json:"mean"` // of the means of the curves
	Last Estimate `json:"last"` // at the last budget
	Won  int      `json:"won"`  // seeds whose mean is higher
	// P is the p-value of Wilcoxon's signed-rank test of the means of seeds, exact and
	// two-sided, without a correction for multiple comparisons.
	P float64 `json:"p_value"`
	// Adjusted is P after Holm's correction for all comparisons of the panel, on all its
	// tasks (Holm 1979): a difference is significant at 5 % if it is below 0.05.
	Adjusted float64 `json:"adjusted_p_value"`
}

// Clear reports whether an interval is on one side of 0: 1 above, -1 below, 0 if it
// contains 0 or has no width.
func (e Estimate) Clear() int {
	switch {
	case e.Low > 0 && e.High > e.Low:
		return 1
	case e.High < 0 && e.High > e.Low:
		return -1
	}
	return 0
}

// points is the number of points of a mean curve, including 0 and the budget.
const points = 33

// compare computes one panel.
func (s *Study) compare(p Panel, tasks []TaskResults) PanelResult {
	result := PanelResult{Name: p.Name, Title: p.Title, Measure: p.Measure}
	for _, t := range tasks {
		if slices.Contains(p.Tasks, t.Name) {
			if b := s.beside(p, t); len(b.Rows) > 0 {
				result.Tasks = append(result.Tasks, b)
			}
		}
	}
	return result
}

func (s *Study) beside(p Panel, t TaskResults) Beside {
	b := Beside{Task: t.Name, Title: t.Title, Budgets: t.Budgets, Against: p.Against}
	runs := map[string]map[int]Result{}
	for _, r := range t.Runs {
		if runs[r.Setting] == nil {
			runs[r.Setting] = map[int]Result{}
		}
		runs[r.Setting][r.Seed] = r
	}
	for seed := 1; seed <= s.mostSeeds(); seed++ {
		if all(p.Settings, func(name string) bool {
			return runs[name] == nil || len(curveOf(runs[name][seed].metrics, p.Measure)) > 0
		}) && len(runs) > 0 {
			b.Seeds = append(b.Seeds, seed)
		}
	}
	if len(b.Seeds) == 0 {
		return b
	}
	against := taken(runs[p.Against], b, t.budget(), p.Measure)
	for _, name := range p.Settings {
		if runs[name] == nil {
			continue // not trained on this task, or not yet
		}
		x := taken(runs[name], b, t.budget(), p.Measure)
		row := x.row()
		row.Setting, row.Title = name, s.title(name)
		if name != p.Against && runs[p.Against] != nil {
			row.Difference = x.over(against)
		}
		b.Rows = append(b.Rows, row)
	}
	return b
}

func (s *Study) title(setting string) string {
	for _, x := range s.Settings {
		if x.Name == setting {
			return x.Title
		}
	}
	return setting
}

func all(list []string, ok func(string) bool) bool {
	return !slices.ContainsFunc(list, func(x string) bool { return !ok(x) })
}

// sample holds the values of a setting by seed.
type sample struct {
	mean, test, anchors []float64
	at                  [][]float64 // [budgets][seeds]
	grid                []float64
	curve               [][]float64 // [points][seeds]
}

func taken(runs map[int]Result, b Beside, budget float64, measure string) sample {
	x := sample{at: make([][]float64, len(b.Budgets)), curve: make([][]float64, points)}
	for i := range points {
		x.grid = append(x.grid, budget*float64(i)/(points-1))
	}
	for _, seed := range b.Seeds {
		r, ok := runs[seed]
		c := curveOf(r.metrics, measure)
		if !ok || len(c) == 0 {
			continue
		}
		x.mean, x.test = append(x.mean, c.Mean(budget)), append(x.test, r.Test)
		if a := curveOf(r.metrics, "singleton_share"); len(a) > 0 {
			x.anchors = append(x.anchors, a.Mean(budget))
		}
		for i, steps := range b.Budgets {
			x.at[i] = append(x.at[i], c.At(float64(steps)))
		}
		for i, steps := range x.grid {
			x.curve[i] = append(x.curve[i], c.At(steps))
		}
	}
	return x
}

func (x sample) row() Row {
	r := Row{Mean: estimate(x.mean), Test: estimate(x.test), Anchors: estimate(x.anchors)}
	for _, values := range x.at {
		r.At = append(r.At, estimate(values))
	}
	for i, values := range x.curve {
		r.Curve = append(r.Curve, Band{x.grid[i], estimate(values)})
	}
	return r
}

// over returns the differences to other, seed by seed.
func (x sample) over(other sample) *Difference {
	if len(x.mean) != len(other.mean) {
		return nil
	}
	minus := func(a, b []float64) (d []float64) {
		for i := range a {
			d = append(d, a[i]-b[i])
		}
		return d
	}
	last := len(x.at) - 1
	d := &Difference{Mean: estimate(minus(x.mean, other.mean)), Last: estimate(minus(x.at[last], other.at[last]))}
	d.P = stats.SignedRank(minus(x.mean, other.mean))
	for _, v := range minus(x.mean, other.mean) {
		if v > 0 {
			d.Won++
		}
	}
	return d
}

// adjust sets the adjusted p-values of a panel.
func adjust(p PanelResult) {
	var family []*Difference
	for _, b := range p.Tasks {
		for _, r := range b.Rows {
			if r.Difference != nil {
				family = append(family, r.Difference)
			}
		}
	}
	slices.SortStableFunc(family, func(a, b *Difference) int { return cmp.Compare(a.P, b.P) })
	least := 0.0
	for i, d := range family {
		least = max(least, min(1, d.P*float64(len(family)-i)))
		d.Adjusted = least
	}
}

func estimate(x []float64) Estimate {
	mean, low, high := stats.Mean(x)
	return Estimate{mean, low, high}
}
