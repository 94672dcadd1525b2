package plugin_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/merit-rl/merit/core/env"
	"github.com/merit-rl/merit/sdk/plugin"
)

// Options are what a user may write under environment.options.
type Options struct {
	Length int `json:"length"`
}

// corridor is the environment: what all its slots share.
type corridor struct{ length int }

func newCorridor(_ plugin.Setup, o Options) (plugin.Environment, error) {
	return corridor{o.Length}, nil
}

func (c corridor) Spec() plugin.Spec {
	return plugin.Spec{Actions: []string{"left", "right"}, MaxSteps: 2 * c.length, System: "Find the way out."}
}

func (c corridor) NewSlot() (plugin.Slot, error) { return &walker{length: c.length}, nil }

// walker is one slot: it plays one episode at a time.
type walker struct{ length, at, steps int }

// Reset begins the episode of a seed, always in the same way.
func (w *walker) Reset(seed uint64, turn *plugin.Turn) error {
	w.at, w.steps = int(seed%uint64(w.length)), 0
	w.show(turn)
	return nil
}

// Step applies an action; walking into the wall is legal and has no effect.
func (w *walker) Step(action plugin.Action, turn *plugin.Turn) error {
	next := w.at + 2*action.Index - 1
	turn.InvalidAction = next < 0
	w.at = max(next, 0)
	w.steps++
	if w.at == w.length {
		turn.Reward, turn.Terminated = 1, true
	} else if w.steps == 2*w.length {
		turn.Truncated = true
	}
	w.show(turn)
	return nil
}

// show says where the walker is: two states are the same if their anchors are.
func (w *walker) show(turn *plugin.Turn) {
	turn.Anchor = fmt.Appendf(turn.Anchor, "cell %d of %d", w.at, w.length)
}

// Corridor is the whole plug-in; its main is plugin.Serve(Corridor()).
func Corridor() plugin.Definition[Options] {
	return plugin.Definition[Options]{
		Name: "corridor", Version: "1.0.0", Summary: "Walk out of a corridor.",
		Defaults: Options{Length: 3},
		Check: func(_ plugin.Setup, o Options) error {
			if o.Length < 1 {
				return plugin.Problem("length", fmt.Sprintf("must be positive, not %d", o.Length), "3 is a good start")
			}
			return nil
		},
		New: newCorridor,
	}
}

// A whole environment, opened within this process, as its tests do. Merit
// starts it as a process instead.
func Example() {
	setup := plugin.Setup{Slots: 2, Split: plugin.Train}
	e, err := Corridor().Open(setup, json.RawMessage(`{"length": 2}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer e.Close()
	batch, reply := env.NewBatch(e.Spec()), env.Reply{}
	for slot := range setup.Slots {
		batch.Ops[slot], batch.Seeds[slot], batch.Actions[slot] = env.Reset, uint64(slot), 1
	}
	for range 3 {
		if err := e.Exchange(context.Background(), batch, &reply); err != nil {
			fmt.Println(err)
			return
		}
		for slot, anchor := range reply.Anchor {
			if batch.Ops[slot] != env.Skip {
				fmt.Printf("slot %d: %s, reward %g\n", slot, anchor, reply.Reward[slot])
			}
			batch.Ops[slot] = env.Step
			if reply.Flags[slot]&env.Terminated != 0 {
				batch.Ops[slot] = env.Skip
			}
		}
	}
	// Output:
	// slot 0: cell 0 of 2, reward 0
	// slot 1: cell 1 of 2, reward 0
	// slot 0: cell 1 of 2, reward 0
	// slot 1: cell 2 of 2, reward 1
	// slot 0: cell 2 of 2, reward 1
}
