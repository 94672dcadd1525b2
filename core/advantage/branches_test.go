package advantage_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/advantage"
)

// grown returns rows, trajectory by trajectory, with two branches for each trajectory behind all
// of them, some of which branch themselves. Group 1 gets none.
func grown(rows *advantage.Rows, seed uint64) *advantage.Rows {
	random := rand.New(rand.NewPCG(seed, 2))
	trajectories := int(slices.Max(rows.Trajectory)) + 1
	of, at := make([]int32, trajectories), make([]int32, trajectories)
	from := make([][]int, trajectories) // rows
	for i, t := range rows.Trajectory {
		from[t] = append(from[t], i)
	}
	var perm []int
	for i := range rows.Len() {
		perm = append(perm, i)
	}
	for n := range 2 * trajectories {
		parent := n % (trajectories + n/2)
		if rows.Group[from[parent][0]%rows.Len()] == 1 {
			parent = 0
		}
		of, at = append(of, int32(parent)), append(at, int32(random.IntN(len(from[parent]))))
		var own []int
		for _, row := range from[parent] {
			own = append(own, len(perm))
			perm = append(perm, perm[row])
		}
		from = append(from, own)
	}
	out := permuted(rows, perm)
	out.BranchOf, out.BranchAt, out.LogProb = make([]int32, len(perm)), make([]int32, len(perm)), make([]float64, len(perm))
	for t, own := range from {
		score := math.Abs(random.NormFloat64())
		for k, i := range own {
			out.Trajectory[i], out.BranchOf[i], out.LogProb[i] = int32(t), -1, -random.ExpFloat64()
			if t < trajectories {
				continue
			}
			out.BranchOf[i], out.BranchAt[i], out.Score[i] = of[t], at[t], score
			for r, share := range []float64{0.5, 1.5} {
				out.Rewards[r].Score[i] = score * share
			}
			if other := from[of[t]][k]; k <= int(at[t]) {
				out.Anchor[i], out.Role[i] = out.Anchor[other], out.Role[other]
			} else {
				out.Anchor[i] = fmt.Sprintf("################ state %02d ................", random.IntN(32))
			}
			if k >= int(at[t]) {
				out.Reward[i] = random.NormFloat64()
			}
		}
	}
	return out
}

// doubled returns rows with a branch of each trajectory that does the same as it did.
func doubled(rows *advantage.Rows, at int) *advantage.Rows {
	n, trajectories := rows.Len(), slices.Max(rows.Trajectory)+1
	perm := make([]int, 2*n)
	for i := range perm {
		perm[i] = i % n
	}
	out := permuted(rows, perm)
	out.BranchOf, out.BranchAt, out.LogProb = make([]int32, 2*n), make([]int32, 2*n), make([]float64, 2*n)
	for i := range out.BranchOf {
		out.BranchOf[i] = -1
		if i >= n {
			out.BranchOf[i], out.BranchAt[i] = out.Trajectory[i], int32(at)
			out.Trajectory[i] += trajectories
		}
	}
	return out
}

// Promise: branches that do the same as the episodes they left change nothing for those, where
// an estimator counts episodes once; and no row that copies another is learned from.
func TestBranchesThatChangeNothing(t *testing.T) {
	everyConfig(t, func(t *testing.T, cfg advantage.Config) {
		rows := batch(3, 4, 6, 7)
		both := doubled(rows, 2)
		got := estimate(t, cfg, both)
		for i := rows.Len(); i < both.Len(); i++ {
			if both.Step[i] < 2 {
				require.Zero(t, got.Weight[i])
				require.Equal(t, got.Advantage[i-rows.Len()], got.Advantage[i])
			}
		}
		require.Zero(t, got.Stats.Unscored)
		steps := cfg.BaselineOver == advantage.OverSteps && !slices.Contains([]string{"rloo", "maxrl", "grpo_passk", "rae", "remax", "gae", "lightning", "flow_grpo"}, cfg.Estimator)
		compares := slices.Contains([]string{"gigpo", "hgpo", "graphgpo", "tigpo", "g2po", "gagpo", "opo", "tree", "vine", "counterfactual"}, cfg.Estimator)
		if steps || compares || cfg.Whitens() {
			return
		}
		want := estimate(t, cfg, rows)
		require.InDeltaSlice(t, want.Advantage, got.Advantage[:rows.Len()], tolerance)
		require.Equal(t, want.Return, got.Return[:rows.Len()])
	})
}

// Promise: a branch without a score changes nothing for the others.
func TestUnscoredBranchTakesNoPart(t *testing.T) {
	everyConfig(t, func(t *testing.T, cfg advantage.Config) {
		rows := batch(2, 3, 5, 9)
		rows.LogProb = make([]float64, rows.Len())
		both := doubled(rows, 2)
		both.Scored = make([]bool, both.Len())
		for i := range rows.Len() {
			both.Scored[i] = true
		}
		want := estimate(t, cfg, rows)
		got := estimate(t, cfg, both)
		require.Equal(t, want.Advantage, got.Advantage[:rows.Len()])
		require.Equal(t, want.Weight, got.Weight[:rows.Len()])
		require.Zero(t, slices.Max(got.Weight[rows.Len():]))
		require.Equal(t, 6, got.Stats.Unscored)
	})
}

// Promise: without divisors, the advantages of tree on the way to the end of an episode add up to
// that of grpo: its score less the mean of the group.
func TestTreeAddsUp(t *testing.T) {
	rows := grown(batch(2, 3, 6, 11), 11)
	got, whole := estimate(t, named("tree"), rows), estimate(t, named("grpo"), rows)
	at := map[[2]int32]int{}
	for i := range rows.Group {
		at[[2]int32{rows.Trajectory[i], rows.Step[i]}] = i
	}
	left := map[[2]int32]bool{} // states with branches, by the row that owns them
	for i := range rows.Group {
		if rows.BranchOf[i] >= 0 && rows.Step[i] == rows.BranchAt[i] {
			left[owner(rows, rows.BranchOf[i], rows.Step[i])] = true
		}
	}
	for i, t0 := range rows.Trajectory {
		if _, more := at[[2]int32{t0, rows.Step[i] + 1}]; more {
			continue
		}
		sum := 0.0
		for k := range rows.Step[i] + 1 {
			o := owner(rows, t0, k)
			row := at[o]
			if k == 0 || left[o] || rows.BranchOf[row] >= 0 && rows.BranchAt[row] == k {
				sum += got.Advantage[at[[2]int32{t0, k}]]
			}
		}
		require.InDelta(t, whole.Advantage[i], sum, tolerance)
	}
}

// owner returns the trajectory and step that own a step.
func owner(rows *advantage.Rows, t, step int32) [2]int32 {
	for {
		i := slices.Index(rows.Trajectory, t)
		if rows.BranchOf[i] < 0 || step >= rows.BranchAt[i] {
			return [2]int32{t, step}
		}
		t = rows.BranchOf[i]
	}
}

// fork is one group: a and b go from the start over a fork to an end, and two branches leave a at
// the fork.
//
//	a: start, fork, end   score 1     a/0: … fork, end   score 0
//	b: start, wall        score 0     a/1: … fork, end   score 0.5
func fork() *advantage.Rows {
	r := &advantage.Rows{
		Group:      make([]int32, 11),
		Trajectory: []int32{0, 0, 0, 1, 1, 2, 2, 2, 3, 3, 3},
		Step:       []int32{0, 1, 2, 0, 1, 0, 1, 2, 0, 1, 2},
		BranchOf:   []int32{-1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0},
		BranchAt:   []int32{0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1},
		Anchor:     []string{"start", "fork", "end", "start", "wall", "start", "fork", "end", "start", "fork", "end"},
		Reward:     []float64{0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0.5},
		Score:      []float64{1, 1, 1, 0, 0, 0, 0, 0, 0.5, 0.5, 0.5},
		LogProb:    make([]float64, 11),
	}
	for i := range r.LogProb {
		r.LogProb[i] = math.Log(0.25)
	}
	return r
}

// Promise: the estimators on trees by hand. The fork is worth 0.5 by all three ways from it, and
// 0.25 by the two branches.
func TestTreesByHand(t *testing.T) {
	for name, want := range map[string][]float64{
		"grpo":           {0.25, 0.75, 0.75, -0.25, -0.25, 0.25, -0.25, -0.25, 0.25, 0.25, 0.25},
		"tree":           {0.25, 0.5, 0.5, -0.25, -0.25, 0.25, -0.5, -0.5, 0.25, 0, 0},
		"vine":           {0.25, 0.75, 0.75, -0.5, -0.5, 0.25, 0, 0, 0.25, 0, 0},
		"counterfactual": {0, 0.75 * 0.75, 0, 0, 0, 0, 0, 0, 0, 0, 0},
	} {
		cfg := named(name)
		cfg.Gamma = 1
		got := estimate(t, cfg, fork())
		require.InDeltaSlice(t, want, got.Advantage, tolerance, name)
		require.Zero(t, got.Weight[5])
		require.Zero(t, got.Weight[8])
		evidence := name == "vine" || name == "counterfactual"
		require.Equal(t, evidence, got.Weight[6] == 0, name)
	}
}

// Promise: counterfactual estimates the advantage of an action exactly if all others were tried,
// as often as the policy takes them.
func TestCounterfactualIsExact(t *testing.T) {
	worth := []float64{3, -1, 7, 0}
	for own := range worth {
		r := &advantage.Rows{}
		add := func(of int32, action int) {
			n := int32(r.Len())
			r.Group, r.Trajectory, r.Step = append(r.Group, 0), append(r.Trajectory, n), append(r.Step, 0)
			r.BranchOf, r.BranchAt = append(r.BranchOf, of), append(r.BranchAt, 0)
			r.Reward, r.Score = append(r.Reward, worth[action]), append(r.Score, worth[action])
			r.LogProb = append(r.LogProb, math.Log(1/float64(len(worth))))
		}
		add(-1, own)
		for other := range worth {
			if other != own {
				add(0, other)
			}
		}
		require.InDelta(t, worth[own]-9./4, estimate(t, named("counterfactual"), r).Advantage[0], tolerance)
	}
}

// Promise: what does not make a tree is refused, with the row at which it shows.
func TestBranchesRefused(t *testing.T) {
	fails := func(estimator string, change func(*advantage.Rows), want string) {
		t.Helper()
		rows := fork()
		change(rows)
		require.ErrorContains(t, advantage.Estimate(named(estimator), rows, new(advantage.Result)), want)
	}
	set := func(rows *advantage.Rows, of, at int32) {
		for i := 5; i < 8; i++ {
			rows.BranchOf[i], rows.BranchAt[i] = of, at
		}
	}
	fails("grpo", func(r *advantage.Rows) { set(r, 9, 1) }, "row 5: trajectory 2 branches off trajectory 9, which has no rows")
	fails("grpo", func(r *advantage.Rows) { set(r, 2, 1) }, "row 5: trajectory 2 branches off itself, or off one of its branches")
	fails("grpo", func(r *advantage.Rows) {
		set(r, 3, 1)
		r.BranchOf[8], r.BranchOf[9], r.BranchOf[10] = 2, 2, 2
	}, "row 5: trajectory 2 branches off itself, or off one of its branches")
	fails("grpo", func(r *advantage.Rows) { set(r, 0, 3) }, "row 5: trajectory 2 branches off trajectory 0 at step 3, but they have 3 and 3 steps")
	fails("grpo", func(r *advantage.Rows) { set(r, 1, 2) }, "row 5: trajectory 2 branches off trajectory 1 at step 2, but they have 3 and 2 steps")
	fails("grpo", func(r *advantage.Rows) { set(r, 0, -1) }, "at step -1")
	fails("grpo", func(r *advantage.Rows) { r.BranchAt[7] = 2 }, "row 7: trajectory 2 branches off 0 at step 2 here, but off 0 at step 1 in its first row")
	fails("grpo", func(r *advantage.Rows) { r.Group[3], r.Group[4] = 1, 1; set(r, 1, 1) }, "row 5: trajectory 2 of group 0 branches off trajectory 1 of group 1")
	fails("grpo", func(r *advantage.Rows) { r.Anchor[6] = "wall" }, "row 6: trajectory 2 branches off trajectory 0 at step 1, but has another anchor at step 1")
	fails("counterfactual", func(r *advantage.Rows) { r.LogProb = nil }, "row 0: there is no log_prob")
	fails("counterfactual", func(r *advantage.Rows) { r.LogProb[4] = math.NaN() }, "row 4: there is no log_prob")
	fails("counterfactual", func(r *advantage.Rows) { r.LogProb[4] = 0.5 }, "row 4: log_prob is 0.5, and the logarithm of a probability is at most 0")
	fails("rae", func(r *advantage.Rows) {
		*r = *grown(batch(1, 1, 70, 1), 1)
		for i := range r.Role {
			r.Role[i] = fmt.Sprint(r.Step[i])
		}
	}, "rae takes at most 64 roles in a batch with branches")
}

// Promise: whatever two columns of numbers claim to be branches, an estimator refuses them or
// finds finite advantages, and takes each row of the others' at most once.
func FuzzBranches(f *testing.F) {
	f.Add([]byte{0, 0, 0, 0, 1, 1, 2, 1})
	f.Add([]byte{255, 0, 1, 2, 2, 1, 3, 0, 3, 9})
	f.Fuzz(func(t *testing.T, data []byte) {
		rows := batch(1, 8, 4, 3)
		for i := range rows.Anchor {
			rows.Anchor[i] = "same"
		}
		rows.BranchOf, rows.BranchAt, rows.LogProb = make([]int32, rows.Len()), make([]int32, rows.Len()), make([]float64, rows.Len())
		for i, k := range rows.Trajectory {
			rows.BranchOf[i] = -1
			if at := int(2 * k); at+1 < len(data) {
				rows.BranchOf[i], rows.BranchAt[i] = int32(int8(data[at])), int32(int8(data[at+1]))
			}
		}
		var got advantage.Result
		for _, name := range advantage.Names() {
			err := advantage.Estimate(named(name), rows, &got)
			if err != nil {
				var row *advantage.RowError
				require.ErrorAs(t, err, &row)
				continue
			}
			for i, w := range got.Weight {
				require.False(t, math.IsNaN(got.Advantage[i]) || math.IsInf(got.Advantage[i], 0))
				if rows.BranchOf[i] >= 0 && rows.Step[i] < rows.BranchAt[i] {
					require.Zero(t, w)
				}
			}
		}
	})
}
