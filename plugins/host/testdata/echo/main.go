// Command echo is a plug-in with free text as its action, for the tests of the
// host: it says what it heard, in every way there is.
package main

import (
	"fmt"
	"math"
	"os"

	"github.com/merit-rl/merit/sdk/plugin"
)

func main() {
	plugin.Serve(plugin.Definition[struct{}]{
		Name: "echo", Version: "1", Summary: "Says what it heard.",
		New: func(plugin.Setup, struct{}) (plugin.Environment, error) { return environment{}, nil },
	})
}

type environment struct{}

func (environment) Spec() plugin.Spec { return plugin.Spec{FeatureShape: []int{3}, MaxSteps: 20} }

func (environment) NewSlot() (plugin.Slot, error) { return &slot{}, nil }

type slot struct {
	heard string
	steps int
}

func (s *slot) Reset(seed uint64, turn *plugin.Turn) error {
	s.heard, s.steps = fmt.Sprint("seed ", seed), 0
	s.say(turn)
	return nil
}

func (s *slot) Step(action plugin.Action, turn *plugin.Turn) error {
	switch action.Text {
	case "panic":
		panic("as asked")
	case "exit":
		fmt.Println("to stdout")
		fmt.Fprintln(os.Stderr, "to stderr")
		os.Exit(5)
	}
	s.heard += "," + action.Text
	s.steps++
	turn.Tool("ear", action.Text)
	turn.Reward = math.Pi * float64(s.steps)
	turn.Truncated = s.steps == 20
	s.say(turn)
	return turn.Info("length", len(s.heard))
}

func (s *slot) say(turn *plugin.Turn) {
	turn.Anchor = append(turn.Anchor, s.heard...)
	turn.Text = fmt.Appendf(turn.Text, "You said: %s", s.heard)
	if turn.Features != nil {
		turn.Features[0], turn.Features[1], turn.Features[2] = 1, -0.5, float32(len(s.heard))
	}
}
