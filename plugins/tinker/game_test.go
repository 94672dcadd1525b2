package tinker_test

import (
	"context"
	"fmt"
	"math/bits"
	"sync/atomic"

	"github.com/merit-rl/merit/core/env"
	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
)

// width is how many episodes are played beside each other.
const width = 8

// game is an environment of two turns in free text, in which everything that a
// model says goes.
type game struct {
	start, turn [width]int
	onStep      func() // nil = nothing
}

func (g *game) Spec() env.Spec {
	return env.Spec{Name: "game", Version: "1", Slots: width, MaxSteps: 2, System: "Go."}
}

func (g *game) Exchange(_ context.Context, b *env.Batch, r *env.Reply) error {
	r.Anchor, r.Text, r.Mask = make([]string, width), make([]string, width), nil
	r.Reward, r.Flags = make([]float64, width), make([]env.Flag, width)
	for i, op := range b.Ops {
		switch op {
		case env.Reset:
			g.start[i], g.turn[i] = int(b.Seeds[i]%7), 0
		case env.Step:
			g.turn[i]++
			if g.turn[i] == 2 {
				r.Flags[i] = env.Terminated
			}
			if g.onStep != nil {
				g.onStep()
			}
		}
		// Prompts of three lengths, which the server pads to two.
		r.Text[i] = fmt.Sprintf("At %*d, turn %d.", 1+12*(g.start[i]%3), g.start[i], g.turn[i])
		r.Anchor[i] = r.Text[i]
	}
	return nil
}

func (g *game) Close() error { return nil }

// games opens environments; after so many steps of training in all, once calls
// the function.
func games(after int64, once func()) func(context.Context, string, int) (env.Env, error) {
	var steps atomic.Int64
	return func(_ context.Context, split string, _ int) (env.Env, error) {
		if split != "train" || once == nil {
			return &game{}, nil
		}
		return &game{onStep: func() {
			if steps.Add(1) == after {
				once()
			}
		}}, nil
	}
}

// taste scores what was said by its bits, so that random weights get something of
// everything.
type taste struct{}

func (taste) Info() reward.Info {
	return reward.Info{Name: "taste", StepIndexing: reward.ByAssistant}
}

func (taste) Evaluate(_ context.Context, t *rl.Trajectory) reward.Evaluation {
	ones, all := 0, 1
	for _, step := range t.Steps {
		for _, c := range []byte(step.RawOutput) {
			ones, all = ones+bits.OnesCount8(c), all+8
		}
	}
	return reward.Evaluation{Outcome: reward.Scored, Result: rl.EvaluateResult{Score: float64(ones) / float64(all), IsScoreValid: true}}
}
