// Command corridor is an environment for tests: a corridor with four starts,
// the same ones in every split.
package main

import (
	"fmt"

	"github.com/merit-rl/merit/sdk/plugin"
)

const length, patience = 4, 8

type options struct{}

type corridor struct{}

func (corridor) Spec() plugin.Spec {
	return plugin.Spec{Actions: []string{"left", "right"}, FeatureShape: []int{length}, MaxSteps: patience, System: "Find the way out."}
}

func (corridor) NewSlot() (plugin.Slot, error) { return new(walker), nil }

type walker struct{ at, steps int }

func (w *walker) Reset(seed uint64, turn *plugin.Turn) error {
	*w = walker{at: int(seed % length)}
	w.show(turn)
	return nil
}

func (w *walker) Step(action plugin.Action, turn *plugin.Turn) error {
	w.at = max(w.at+2*action.Index-1, 0)
	w.steps++
	turn.Terminated = w.at == length
	turn.Truncated = !turn.Terminated && w.steps == patience
	w.show(turn)
	return nil
}

func (w *walker) show(turn *plugin.Turn) {
	turn.Anchor = fmt.Appendf(turn.Anchor, "cell %d of %d", w.at, length)
	if w.at < length && turn.Features != nil {
		turn.Features[w.at] = 1
	}
}

func main() {
	plugin.Serve(plugin.Definition[options]{
		Name: "corridor", Version: "1.0.0", Summary: "A corridor for tests.",
		New: func(plugin.Setup, options) (plugin.Environment, error) { return corridor{}, nil },
	})
}
