package sweep

import (
	"sort"

	"github.com/merit-rl/merit/core/run"
)

// Success is the default measure of a panel.
const Success = "success"

// measures lists the measures that a panel can show: of validations, which are held out,
// or of training iterations.
var measures = []struct {
	name string
	of   func(run.Iteration) (value float64, ok bool)
}{
	{Success, validation(func(s *run.Score) float64 { return s.Success })},
	{"return", validation(func(s *run.Score) float64 { return s.Return })},
	{"win_rate", wins},
	{"length", validation(func(s *run.Score) float64 { return s.Length })},
	{"singleton_share", credit(func(a *run.Advantage) float64 { return a.SingletonShare })},
	{"step_share", credit(func(a *run.Advantage) float64 { return a.StepShare })},
	{"zero_variance_rate", credit(func(a *run.Advantage) float64 { return a.ZeroVarianceRate })},
}

// Measures returns the measures that a panel can show. Success, return, win_rate (of rewards that
// compare; see [run.Wins]) and length come from validations, and the others from training, as in [run.Advantage].
func Measures() (all []string) {
	for _, m := range measures {
		all = append(all, m.name)
	}
	return all
}

func validation(of func(*run.Score) float64) func(run.Iteration) (float64, bool) {
	return func(it run.Iteration) (float64, bool) {
		if v := it.Validation; v == nil || v.Episodes == 0 && v.Unscored > 0 { // no score is not the score 0
			return 0, false
		}
		return of(it.Validation), true
	}
}

// wins returns how often episodes won against those of the reference in their group.
func wins(it run.Iteration) (float64, bool) {
	if it.Validation == nil || it.Validation.Wins == nil {
		return 0, false
	}
	return it.Validation.Wins.Rate, true
}

func credit(of func(*run.Advantage) float64) func(run.Iteration) (float64, bool) {
	return func(it run.Iteration) (float64, bool) {
		if it.Advantage == nil {
			return 0, false
		}
		return of(it.Advantage), true
	}
}

// Curve is a measure over the environment steps of training.
type Curve []Point

// Point is the value of a measure after a number of environment steps.
type Point struct {
	Steps float64 `json:"steps"`
	Value float64 `json:"value"`
}

// curveOf returns the curve of a measure in the metrics of a run.
func curveOf(metrics []run.Iteration, measure string) (c Curve) {
	for _, m := range measures {
		if m.name != measure {
			continue
		}
		for _, it := range metrics {
			if v, ok := m.of(it); ok {
				c = append(c, Point{float64(it.EnvSteps), v})
			}
		}
	}
	return c
}

// At returns the value after the given steps, linearly interpolated. Before the first
// point it is the value of the first; after the last it is that of the last, which is
// the value that a run that stopped early keeps. The curve must have a point.
func (c Curve) At(steps float64) float64 {
	i := sort.Search(len(c), func(i int) bool { return c[i].Steps >= steps })
	switch {
	case i == 0:
		return c[0].Value
	case i == len(c):
		return c[i-1].Value
	}
	a, b := c[i-1], c[i]
	return a.Value + (b.Value-a.Value)*(steps-a.Steps)/(b.Steps-a.Steps)
}

// Mean returns the mean of the curve from 0 to steps: the area under it divided by steps,
// which must be positive.
func (c Curve) Mean(steps float64) float64 {
	last := Point{0, c.At(0)}
	area := 0.0
	add := func(p Point) {
		area += (p.Steps - last.Steps) * (p.Value + last.Value) / 2
		last = p
	}
	for _, p := range c {
		if p.Steps > 0 && p.Steps < steps {
			add(p)
		}
	}
	add(Point{steps, c.At(steps)})
	return area / steps
}
