package monitor

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"

	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/core/run"
)

// scored is the name in core/reward of the outcome that has a score.
const scored = "scored"

// Measure describes the scored trajectories of an iteration, which are in
// group-major order; nil if there is none. It takes time in proportion to
// their steps and text.
func Measure(trajectories []*rl.Trajectory) *run.Outputs {
	t := tally{counts: map[string]int{}}
	t.out.Metrics = map[string]float64{}
	for i, x := range trajectories {
		if i > 0 && x.Group != trajectories[i-1].Group {
			t.endGroup()
		}
		if x.Outcome == scored && x.Evaluation != nil {
			t.add(x)
		}
	}
	t.endGroup()
	if len(t.scores) == 0 {
		return nil
	}
	return t.sum()
}

// tally adds up trajectories.
type tally struct {
	out    run.Outputs // sums until sum is called
	reader reader
	steps  int
	scores []float64
	counts map[string]int // of trajectories that have a metric

	group int       // where the current group begins in scores
	said  []uint64  // by its members
	means []float64 // of the scores of groups
}

func (t *tally) add(x *rl.Trajectory) {
	e := t.reader.read(x)
	t.scores, t.said = append(t.scores, x.Evaluation.Score), append(t.said, e.said)
	t.steps += len(x.Steps)
	t.out.EnvReward += e.env
	t.out.Revisits += float64(e.revisits)
	t.out.Words += float64(e.words)
	t.out.Distinct += e.distinct
	for name, value := range x.Measured() {
		t.out.Metrics[name] += value
		t.counts[name]++
	}
}

func (t *tally) endGroup() {
	members := t.scores[t.group:]
	if len(members) == 0 {
		return
	}
	t.group = len(t.scores)
	t.means = append(t.means, mean(members))
	slices.Sort(t.said)
	t.out.Different += float64(len(slices.Compact(t.said))) / float64(len(members))
	t.said = t.said[:0]
}

func (t *tally) sum() *run.Outputs {
	o, n := &t.out, float64(len(t.scores))
	o.Groups = len(t.means)
	o.Score, o.ScoreStd = stat.PopMeanStdDev(t.scores, nil)
	if o.Groups > 1 {
		o.ScoreError = stat.StdDev(t.means, nil) / math.Sqrt(float64(o.Groups))
	}
	highest, top := slices.Max(t.scores), 0
	for _, s := range t.scores {
		if s >= highest {
			top++
		}
	}
	o.Top = float64(top) / n
	o.EnvReward /= n
	o.Revisits /= float64(max(1, t.steps))
	sums := o.Metrics
	o.Metrics = make(map[string]float64, len(sums))
	for _, name := range run.Widespread(t.counts) {
		o.Metrics[name] = sums[name] / float64(t.counts[name])
	}
	if o.Words == 0 {
		o.Distinct, o.Different = 0, 0
		return o
	}
	o.Words, o.Distinct, o.Different = o.Words/n, o.Distinct/n, o.Different/float64(o.Groups)
	return o
}
