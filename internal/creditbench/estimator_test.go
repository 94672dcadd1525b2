package creditbench

import (
	"context"
	"encoding/json"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/advantage"
	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
)

// program answers as a program in the sandbox does.
type program func(rows []row) reward.Evaluation

func (program) Info() reward.Info { return reward.Info{} }

func (p program) Evaluate(_ context.Context, t *rl.Trajectory) reward.Evaluation {
	var rows []row
	if err := json.Unmarshal(t.Metadata["rows"], &rows); err != nil || len(rows) != len(t.Messages) {
		return reward.Evaluation{Outcome: reward.Invalid, Reason: "not a step for each row"}
	}
	return p(rows)
}

// Promise: a program reads the rows that estimators have, and its advantages are measured and
// learned from as theirs are: the same function gives the same numbers.
func TestProgramIsMeasuredAlike(t *testing.T) {
	centered := program(func(rows []row) reward.Evaluation {
		members, sums := map[int32]map[int32]bool{}, map[int32]float64{}
		for _, r := range rows {
			if members[r.Group] == nil {
				members[r.Group] = map[int32]bool{}
			}
			if !members[r.Group][r.Trajectory] {
				members[r.Group][r.Trajectory], sums[r.Group] = true, sums[r.Group]+r.Score
			}
		}
		e := reward.Evaluation{Outcome: reward.Scored}
		for i := range rows {
			r := rows[len(rows)-1-i] // in any order
			e.Result.StepOutputs = append(e.Result.StepOutputs, rl.StepOutput{StepIndex: rl.StepIndex(len(rows) - 1 - i), BaseReward: r.Score - sums[r.Group]/float64(len(members[r.Group]))})
		}
		return e
	})
	cfg := advantage.Default()
	cfg.Estimator = "grpo"
	r, err := Run(t.Context(), Plan{
		Worlds: []string{"turns"}, Members: []int{4}, Seeds: 2, Estimators: []Estimator{{Name: "grpo", Config: cfg}, {Name: "mine", Program: centered}},
	}, func(int, int) {})
	require.NoError(t, err)
	own, mine := r.Rows[0], r.Rows[1]
	require.InDelta(t, own.Sign.Mean, mine.Sign.Mean, 1e-9)
	require.InDelta(t, own.Noise.Mean, mine.Noise.Mean, 1e-6)
	require.InDelta(t, own.Area.Mean, mine.Area.Mean, 1e-6)
	require.Len(t, r.Programs, 1)
}

// Promise: what is not one advantage for each row is an error that names the row.
func TestProgramMistakes(t *testing.T) {
	w := turns().build()
	r := rand.New(rand.NewPCG(1, 1))
	p := w.random(r)
	rows := &w.sample(p, w.Solve(p), 1, 2, r).rows
	for why, steps := range map[string][]rl.StepIndex{
		"it returns no advantage for row 1":   {0},
		"it returns two advantages for row 0": {0, 0},
		"it returns an advantage for row -1":  {-1},
	} {
		e := Estimator{Name: "mine", Program: program(func([]row) (e reward.Evaluation) {
			e.Outcome = reward.Scored
			for _, i := range steps {
				e.Result.StepOutputs = append(e.Result.StepOutputs, rl.StepOutput{StepIndex: i})
			}
			return e
		})}
		_, err := e.estimate(t.Context(), rows, nil)
		require.ErrorContains(t, err, "mine: has no advantages for a batch of")
		require.ErrorContains(t, err, why)
	}
}

// constant answers with the same advantage for every row.
func constant(x float64) program {
	return func(rows []row) (e reward.Evaluation) {
		e.Outcome = reward.Scored
		for i := range rows {
			e.Result.StepOutputs = append(e.Result.StepOutputs, rl.StepOutput{StepIndex: rl.StepIndex(i), BaseReward: x})
		}
		return e
	}
}

// Promise: advantages of any size have finite figures, or are an error that names the row.
func TestSizesOfAdvantages(t *testing.T) {
	run := func(x float64) error {
		r, err := Run(t.Context(), Plan{Worlds: []string{"turns"}, Members: []int{4}, Seeds: 2, Estimators: []Estimator{{Name: "mine", Program: constant(x)}}}, func(int, int) {})
		if err == nil {
			for _, v := range []Value{r.Rows[0].Sign, r.Rows[0].Rank, r.Rows[0].Bias, r.Rows[0].Noise, r.Rows[0].Area, r.Rows[0].Last} {
				require.False(t, math.IsNaN(v.Mean) || math.IsInf(v.Mean, 0) || math.Abs(v.Mean) > 1e6, "%g: %v", x, v)
			}
		}
		return err
	}
	for _, x := range []float64{0, 5e-324, -1e-300, 1, 1e50, -largest} {
		require.NoError(t, run(x), "%g", x)
	}
	for _, x := range []float64{1e101, -math.MaxFloat64, math.Inf(1), math.NaN()} {
		require.ErrorContains(t, run(x), "the advantage of row 0 is")
	}
}

// Promise: every unknown name is reported, and a name that is given twice counts once.
func TestNames(t *testing.T) {
	p := Default()
	p.Worlds = []string{"moon", "fork", "sea"}
	_, err := p.Named([]string{"gigpo", "best", "worst"})
	for _, name := range []string{"moon", "sea", "best", "worst"} {
		require.ErrorContains(t, err, name)
	}
	p.Worlds = nil
	twice, err := p.Named([]string{"gigpo", "rloo", "gigpo"})
	require.NoError(t, err)
	require.Len(t, twice, 2)
}

// Promise: an estimator that the worlds do not suit is named with the reason.
func TestLeftOut(t *testing.T) {
	p := Default()
	p.LeftOut = append(p.LeftOut, LeftOut{"several", "needs several rewards"})
	_, err := p.Named([]string{"several"})
	require.ErrorContains(t, err, "several cannot be measured in these worlds: needs several rewards")
	require.Len(t, append(p.Estimators, make([]Estimator, len(p.LeftOut)-1)...), len(advantage.Names()))
}
