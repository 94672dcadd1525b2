package sandbox_test

import (
	"context"
	"fmt"
	"log"
	"strings"

	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/sandbox"
)

// answer is a reward in C: 1 if the answer behind "A:" is the ground truth.
const answer = "../sdk/conformance/testdata/guests/c/answer.wasm"

// A conversation in which the model says what it thinks 2 + 2 is.
func sum(said string) *rl.Trajectory {
	return &rl.Trajectory{
		ID: "sum", GroundTruth: []byte(`"4"`),
		Messages: []rl.Message{
			{Role: rl.RoleUser, Content: rl.Text("What is 2 + 2?")},
			{Role: rl.RoleAssistant, Content: rl.Text("A: " + said)},
		},
	}
}

// Load a reward once and score with it as often as you like, from any
// goroutine: every evaluation starts from the same state and costs the same
// fuel.
func Example() {
	ctx := context.Background()
	cfg := sandbox.DefaultConfig()
	cfg.Fuel = 1_000_000
	runtime, err := sandbox.New(ctx, cfg)
	if err != nil {
		log.Fatal(err)
	}
	defer runtime.Close(ctx)
	reward, err := runtime.LoadFile(ctx, answer)
	if err != nil {
		log.Fatal(err)
	}
	for _, said := range []string{"4", "5"} {
		e := reward.Evaluate(ctx, sum(said))
		fmt.Println(e.Outcome, e.Result.Score)
	}
	first, second := reward.Evaluate(ctx, sum("4")), reward.Evaluate(ctx, sum("4"))
	fmt.Println("same fuel:", first.Fuel == second.Fuel)
	// Output:
	// scored 1
	// scored 0
	// same fuel: true
}

// A reward that cannot be scored is an outcome with a reason, never the number 0.
func ExampleModule_Evaluate() {
	ctx := context.Background()
	cfg := sandbox.DefaultConfig()
	cfg.Fuel = 1000 // too little for anything
	runtime, err := sandbox.New(ctx, cfg)
	if err != nil {
		log.Fatal(err)
	}
	defer runtime.Close(ctx)
	reward, err := runtime.LoadFile(ctx, answer)
	if err != nil {
		log.Fatal(err)
	}
	e := reward.Evaluate(ctx, sum("4"))
	what, _, _ := strings.Cut(e.Reason, ":")
	fmt.Printf("%s: %s (valid score: %v)\n", e.Outcome, what, e.Result.IsScoreValid)
	// Output: out_of_fuel: the evaluation used up its fuel (sandbox.fuel) (valid score: false)
}

// What a module is made of and why it would be refused, without running it.
func ExampleInspect() {
	x, err := sandbox.Inspect(answer, sandbox.DefaultConfig().Limits)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(x.ABI, x.Powers, len(x.Problems), "problems")
	for _, i := range x.Imports {
		fmt.Println(i.Name, i.Type)
	}
	// Output:
	// flat-1 [trajectory] 0 problems
	// merit_v1.reason (i32, i32) -> ()
	// merit_v1.set_score (f64) -> ()
}
