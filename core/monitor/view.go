package monitor

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"

	"github.com/merit-rl/merit/core/run"
)

// view is what flags look at: the iterations of training that were measured,
// oldest first, and the series that most flags want.
type view struct {
	c     Config
	lines []*run.Iteration
	all   []run.Iteration
	score []float64
	known map[string][]float64
}

func newView(c Config, history []run.Iteration) *view {
	v := &view{c: c, all: history, known: map[string][]float64{}}
	for i := range history {
		if it := &history[i]; it.Rollout != nil && it.Advantage != nil && it.Outputs != nil {
			v.lines = append(v.lines, it)
		}
	}
	v.score = v.series("score", func(it *run.Iteration) float64 { return it.Outputs.Score })
	return v
}

// flags returns the flags whose measurements every line has.
func (v *view) flags() []flag {
	if slices.ContainsFunc(v.lines, func(it *run.Iteration) bool { return it.Update == nil }) {
		return rolloutFlags
	}
	return flags
}

func (v *view) last() *run.Iteration { return v.lines[len(v.lines)-1] }

// series returns a value of every line.
func (v *view) series(name string, value func(*run.Iteration) float64) []float64 {
	if s, ok := v.known[name]; ok {
		return s
	}
	s := make([]float64, len(v.lines))
	for i, it := range v.lines {
		s[i] = value(it)
	}
	v.known[name] = s
	return s
}

// said reports whether the flag was raised recently, at least at this level.
func (v *view) said(name string, level run.Level) bool {
	for _, it := range last(v.all[:len(v.all)-1], v.c.Repeat-1) {
		for _, a := range it.Alarms {
			if a.Name == name && (a.Level == level || a.Level == run.Alert) {
				return true
			}
		}
	}
	return false
}

// windows reports whether there are n whole windows of iterations.
func (v *view) windows(n int) bool { return len(v.lines) >= n*v.c.Window }

// solved reports whether there is little left to learn, by the success rate of the
// last window, or by the environment's own metric.
func (v *view) solved() bool {
	return v.tail(v.series("success", success)) >= v.c.Solved
}

func success(it *run.Iteration) float64 { return it.Rollout.Success }

// tail is the mean of the last window.
func (v *view) tail(x []float64) float64 { return mean(last(x, v.c.Window)) }

// head is the mean of the first window.
func (v *view) head(x []float64) float64 { return mean(x[:min(len(x), v.c.Window)]) }

// noise is about the standard error of the mean of a window of x, by how far x
// jumps from one iteration to the next: a trend does not count.
func (v *view) noise(x []float64) float64 {
	return jitter(last(x, 3*v.c.Window)) / math.Sqrt(float64(v.c.Window))
}

// means returns the mean of every whole window of x, by its last iteration.
func (v *view) means(x []float64) []float64 {
	w := v.c.Window
	var out []float64
	sum := 0.0
	for i := range x {
		sum += x[i]
		if i >= w {
			sum -= x[i-w]
		}
		if i >= w-1 {
			out = append(out, sum/float64(w))
		}
	}
	return out
}

// rose reports whether the last window of x is clearly above the first one.
func (v *view) rose(x []float64) bool {
	return v.windows(2) && v.tail(x)-v.head(x) > 4*v.noise(x)+1e-9
}

func last[T any](x []T, n int) []T { return x[max(0, len(x)-n):] }

func mean(x []float64) float64 {
	if len(x) == 0 {
		return 0
	}
	return stat.Mean(x, nil)
}

// jitter is the standard deviation of x without its trend, by the differences of
// neighbors (von Neumann 1941).
func jitter(x []float64) float64 {
	if len(x) < 2 {
		return 0
	}
	var sum float64
	for i := range x[1:] {
		d := x[i+1] - x[i]
		sum += d * d
	}
	return math.Sqrt(sum / 2 / float64(len(x)-1))
}

func median(x []float64) float64 {
	if len(x) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(x))
	return stat.Quantile(0.5, stat.LinInterp, sorted, nil)
}
