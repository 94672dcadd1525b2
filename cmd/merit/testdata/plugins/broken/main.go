// Command broken is an environment that draws its episodes from no seed.
package main

import (
	"fmt"
	"math/rand/v2"

	"github.com/merit-rl/merit/sdk/plugin"
)

type lottery struct{}

func (lottery) Spec() plugin.Spec {
	return plugin.Spec{Actions: []string{"buy"}, MaxSteps: 5}
}

func (lottery) NewSlot() (plugin.Slot, error) { return &ticket{}, nil }

type ticket struct{ steps int }

func (t *ticket) Reset(_ uint64, turn *plugin.Turn) error {
	t.steps = 0
	return t.say(turn)
}

func (t *ticket) Step(_ plugin.Action, turn *plugin.Turn) error {
	t.steps++
	turn.Truncated = t.steps == 5
	return t.say(turn)
}

func (t *ticket) say(turn *plugin.Turn) error {
	turn.Anchor = fmt.Append(turn.Anchor, rand.Uint64())
	return nil
}

func main() {
	plugin.Serve(plugin.Definition[struct{}]{
		Name: "broken", Version: "1.0.0", Summary: "A lottery.",
		New: func(plugin.Setup, struct{}) (plugin.Environment, error) { return lottery{}, nil },
	})
}
