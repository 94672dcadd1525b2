package merit_test

import (
	"context"
	"fmt"
	"log"

	"github.com/merit-rl/merit/sdk/merit"
	_ "github.com/merit-rl/merit/sdk/merit/standard" // the features that register themselves
)

// A program that trains the quickstart's policy for three iterations, against
// the Sokoban plug-in and the reward in the sandbox, and scores a file with the
// same reward.
func Example() {
	ctx := context.Background()
	cfg, err := merit.LoadConfig("examples/sokoban/train.yaml", "train.iterations=3", "train.test_episodes=100")
	if err != nil {
		log.Fatal(err)
	}
	s, err := merit.Open(ctx, cfg)
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()

	run, err := s.Train(ctx, merit.TrainOptions{Dir: "runs/three"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(run.Iterations, "iterations,", run.Episodes, "episodes")

	scores, err := s.Evaluate(ctx, merit.EvaluateOptions{
		Data: "runs/three/trajectories/test-trained.jsonl.zst", Out: "scores.jsonl.gz",
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d of %d scored, %.2f on average\n", scores.Outcomes[0].N, scores.Trajectories, *scores.Mean)
	fmt.Println("the run says", run.Trained.Success)

	// Output:
	// 3 iterations, 768 episodes
	// 100 of 100 scored, 0.06 on average
	// the run says 0.06
}
