package merit_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"strings"

	"github.com/merit-rl/merit/core/env"
	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/sdk/merit"
	_ "github.com/merit-rl/merit/sdk/merit/standard" // the features that register themselves
)

const (
	slots    = 16 // episodes that step together
	cells    = 9
	maxSteps = 8
)

// corridor is an environment: walk to the flag on a line of cells.
type corridor struct{ at, flag, steps [slots]int }

func (c *corridor) Spec() env.Spec {
	return env.Spec{
		Name: "corridor", Version: "1", Slots: slots, Actions: []string{"left", "right"},
		FeatureShape: []int{2 * cells}, MaxSteps: maxSteps, System: "Walk to the flag.",
	}
}

func (c *corridor) Exchange(_ context.Context, b *env.Batch, r *env.Reply) error {
	r.Anchor, r.Text = make([]string, slots), make([]string, slots)
	r.Features, r.Reward, r.Flags = make([]float32, slots*2*cells), make([]float64, slots), make([]env.Flag, slots)
	r.Mask = []byte(strings.Repeat("\x01", slots*2))
	for i, op := range b.Ops {
		switch op {
		case env.Reset: // the start is a function of the seed
			seed := rl.Seed(b.Seeds[i])
			c.at[i], c.steps[i] = int(seed.Uniform()*cells), 0
			c.flag[i] = (c.at[i] + 1 + int(seed.Child(1).Uniform()*(cells-1))) % cells
		case env.Step:
			c.at[i] = min(max(c.at[i]+2*int(b.Actions[i])-1, 0), cells-1)
			c.steps[i]++
		}
		r.Text[i] = fmt.Sprintf("You are in cell %d, the flag is in cell %d.", c.at[i], c.flag[i])
		r.Anchor[i] = r.Text[i] // equal texts are equal states
		r.Features[i*2*cells+c.flag[i]-c.at[i]+cells] = 1
		if c.at[i] == c.flag[i] {
			r.Flags[i] = env.Terminated
		} else if c.steps[i] == maxSteps {
			r.Flags[i] = env.Truncated
		}
	}
	return nil
}

func (c *corridor) Close() error { return nil }

// arrived is a scorer: 1 for an episode that ended at the flag.
type arrived struct{}

func (arrived) Info() reward.Info {
	return reward.Info{Name: "arrived", StepIndexing: reward.ByAssistant}
}

func (arrived) Evaluate(_ context.Context, t *rl.Trajectory) reward.Evaluation {
	e := reward.Evaluation{Outcome: reward.Scored, Result: rl.EvaluateResult{IsScoreValid: true}}
	if t.StopReason == rl.StopTerminated {
		e.Result.Score = 1
	}
	return e
}

// An environment and a scorer of the program itself: no plug-in, no module, no
// file.
func Example_inProcess() {
	cfg := merit.DefaultConfig()
	cfg.Train.Iterations, cfg.Train.TestEpisodes = 30, 200
	cfg.PPO.LearningRate = 5e-3
	open := func(context.Context, string, int) (env.Env, error) { return &corridor{}, nil }

	ctx := context.Background()
	s, err := merit.Open(ctx, cfg, merit.WithEnvironment(open), merit.WithScorer(arrived{}, 1))
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	dir, err := os.MkdirTemp("", "corridor")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	run, err := s.Train(ctx, merit.TrainOptions{Dir: dir})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("untrained %.0f %%, trained %.0f %%\n", 100*run.Baseline.Success, 100*run.Trained.Success)

	// The best policy plays on, likeliest action first.
	played, err := s.Rollout(ctx, merit.RolloutOptions{Checkpoint: dir, Greedy: true, Split: "test", Groups: 8},
		func(*rl.Trajectory) error { return nil })
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(played.Episodes, "episodes,", played.Stops["terminated"], "at the flag")

	// Output:
	// untrained 38 %, trained 100 %
	// 64 episodes, 64 at the flag
}
