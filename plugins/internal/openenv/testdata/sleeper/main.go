// Command sleeper is an environment for load tests: a step takes as long as the
// option says, and computes nothing. All slots of a batch sleep at the same time.
package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/merit-rl/merit/core/env"
	"github.com/merit-rl/merit/sdk/plugin"
)

// Options are the options that a user may set.
type Options struct {
	Sleep time.Duration `json:"sleep"`
}

func main() {
	plugin.Serve(plugin.Definition[Options]{
		Name: "sleeper", Version: "1.0.0", Summary: "Steps that take a while.", Defaults: Options{Sleep: time.Second},
		Vector: func(setup plugin.Setup, o Options) (plugin.Vector, error) {
			return &sleeper{slots: setup.Slots, sleep: o.Sleep, steps: make([]int, setup.Slots)}, nil
		},
	})
}

type sleeper struct {
	slots int
	sleep time.Duration
	steps []int
}

// Spec implements plugin.Vector.
func (s *sleeper) Spec() plugin.Spec { return plugin.Spec{Slots: s.slots, MaxSteps: 1 << 20} }

// Exchange implements plugin.Vector.
func (s *sleeper) Exchange(ctx context.Context, b *env.Batch, r *env.Reply) error {
	if err := b.Check(s.Spec()); err != nil {
		return err
	}
	*r = env.Reply{Anchor: make([]string, s.slots), Text: make([]string, s.slots), Reward: make([]float64, s.slots), Flags: make([]env.Flag, s.slots)}
	asleep := time.Duration(0)
	for i, op := range b.Ops {
		switch op {
		case env.Step:
			s.steps[i]++
			r.Reward[i], asleep = 1, s.sleep
		case env.Reset:
			s.steps[i] = 0
		}
		r.Anchor[i] = fmt.Sprintf("step %d", s.steps[i])
		r.Text[i] = r.Anchor[i]
	}
	if b.Want&env.WantText == 0 {
		r.Text = nil
	}
	select {
	case <-time.After(asleep):
		return nil
	case <-ctx.Done():
		return errors.New("the host has left")
	}
}

// Close implements plugin.Vector.
func (s *sleeper) Close() error { return nil }
