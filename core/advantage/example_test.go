package advantage_test

import (
	"fmt"

	"github.com/merit-rl/merit/core/advantage"
)

// Two attempts at one task: both start in the hall, one finds the exit.
func ExampleEstimate() {
	rows := &advantage.Rows{
		Group:      []int32{0, 0, 0, 0},
		Trajectory: []int32{0, 0, 1, 1},
		Step:       []int32{0, 1, 0, 1},
		Anchor:     []string{"hall", "exit", "hall", "cellar"},
		Reward:     []float64{0, 1, 0, 0},
		Score:      []float64{1, 1, 0, 0},
	}
	cfg := advantage.Default()
	cfg.Gamma = 0.5
	var res advantage.Result
	if err := advantage.Estimate(cfg, rows, &res); err != nil {
		fmt.Println(err)
		return
	}
	for i, anchor := range rows.Anchor {
		fmt.Printf("%-6s G %.2f  A_E %+.2f  A_S %+.2f  A %+.2f\n", anchor, res.Return[i], res.Episode[i], res.Step[i], res.Advantage[i])
	}
	// Output:
	// hall   G 0.50  A_E +0.50  A_S +0.25  A +0.75
	// exit   G 1.00  A_E +0.50  A_S +0.00  A +0.50
	// hall   G 0.00  A_E -0.50  A_S -0.25  A -0.75
	// cellar G 0.00  A_E -0.50  A_S +0.00  A -0.50
}

func ExampleStepReturns() {
	rewards := []float64{0, 0, 1, 0, 2}
	end := []bool{false, false, true, false, true}
	fmt.Println(advantage.StepReturns(make([]float64, 5), rewards, nil, end, 0.5))
	// Output: [0.25 0.5 1 1 2]
}

func ExampleAnchorGroups() {
	group := []int32{0, 0, 0, 1}
	anchors := []string{"You are in room 1.", "You are in room 2.", "A dragon appears!", "You are in room 1."}
	dst := make([]int32, 4)
	fmt.Println(advantage.AnchorGroups(dst, group, anchors, 0))
	fmt.Println(advantage.AnchorGroups(dst, group, anchors, 0.9))
	// Output:
	// [0 1 2 3]
	// [0 0 1 2]
}

func ExampleGroupsWithVariance() {
	scores := []float64{1, 1, 0, 1}
	group := []int32{0, 0, 1, 1}
	fmt.Println(advantage.GroupsWithVariance(make([]bool, 2), scores, group))
	// Output: [false true]
}
