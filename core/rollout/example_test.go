package rollout_test

import (
	"context"
	"fmt"

	"github.com/merit-rl/merit/core/env"
	"github.com/merit-rl/merit/core/policy"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/core/rollout"
)

// countdown is an environment of one slot: say "down" until zero is reached.
type countdown struct{ left int }

func (*countdown) Spec() env.Spec {
	return env.Spec{Name: "countdown", Version: "1", Slots: 1, Actions: []string{"down", "stay"}, MaxSteps: 5}
}

func (c *countdown) Exchange(_ context.Context, b *env.Batch, r *env.Reply) error {
	reward, flags := 0.0, env.Flag(0)
	switch b.Ops[0] {
	case env.Reset:
		c.left = 2 + int(b.Seeds[0]%2) // the start is a function of the seed
	case env.Step:
		if c.left -= 1 - int(b.Actions[0]); c.left == 0 {
			reward, flags = 1, env.Terminated
		}
	}
	text := fmt.Sprintf("%d left", c.left)
	*r = env.Reply{Text: []string{text}, Anchor: []string{text}, Reward: []float64{reward}, Flags: []env.Flag{flags}, Mask: []byte{1, 1}}
	return nil
}

func (*countdown) Close() error { return nil }

// mostly says "down" nine times in ten.
type mostly struct{}

func (mostly) Act(_ context.Context, observations []policy.Observation, decisions []policy.Decision) error {
	for i, o := range observations {
		decisions[i].Action = rl.Action{Kind: rl.ActionChoice}
		if o.Seed.Uniform() > 0.9 {
			decisions[i].Action.Choice = 1
		}
	}
	return nil
}

func (mostly) Version() uint64 { return 0 }

// Two groups of two episodes each: the members of a group begin in one state.
// What is collected is a function of the seed, at any number of environments.
func Example() {
	cfg := rollout.DefaultConfig()
	cfg.Groups, cfg.Members = 2, 2
	open := func(context.Context, int) (env.Env, error) { return &countdown{}, nil }
	c, err := rollout.New(cfg, open, mostly{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	groups, stats, err := c.Collect(context.Background(), rollout.Plan{Seed: 3, Prefix: "demo-"}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, g := range groups {
		for _, t := range g.Trajectories {
			fmt.Printf("%s from %q: ", t.ID, t.Steps[0].Anchor)
			for _, s := range t.Steps {
				fmt.Printf("%s ", s.Action.Text)
			}
			fmt.Println(t.StopReason)
		}
	}
	fmt.Println(stats.Steps, "steps")
	// Output:
	// demo-g0-m0 from "2 left": down down terminated
	// demo-g0-m1 from "2 left": down down terminated
	// demo-g1-m0 from "3 left": down down down terminated
	// demo-g1-m1 from "3 left": down stay down down terminated
	// 11 steps
}
