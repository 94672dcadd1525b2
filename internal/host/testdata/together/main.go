// Command together is an environment that steps its slots together, for the tests of the
// host: how far a number is counted.
package main

import (
	"errors"
	"strconv"

	"github.com/merit-rl/merit/sdk/plugin"
)

type environment struct{}

type slot struct{ at int }

// counter is written for one slot at a time; its in-process form is a Vector.
var counter = plugin.Definition[struct{}]{
	Name: "counter", Version: "1",
	New: func(plugin.Setup, struct{}) (plugin.Environment, error) { return environment{}, nil },
}

func (environment) Spec() plugin.Spec {
	return plugin.Spec{Actions: []string{"wait", "count", "fail"}, FeatureShape: []int{2}, MaxSteps: 9}
}

func (environment) NewSlot() (plugin.Slot, error) { return &slot{}, nil }

func (s *slot) Reset(seed uint64, turn *plugin.Turn) error {
	s.at = int(seed % 3)
	s.show(turn)
	return nil
}

func (s *slot) Step(action plugin.Action, turn *plugin.Turn) error {
	if action.Index == 2 {
		return errors.New("as asked")
	}
	s.at++
	turn.Terminated, turn.Reward = s.at >= 5, float64(action.Index)
	turn.Metric("counted", float64(s.at))
	s.show(turn)
	return nil
}

func (s *slot) show(turn *plugin.Turn) {
	turn.Anchor = strconv.AppendInt(turn.Anchor, int64(s.at), 10)
	if turn.Mask[2] = 0; turn.Features != nil {
		turn.Features[1] = float32(s.at)
	}
}

func main() {
	plugin.Serve(plugin.Definition[struct{}]{
		Name: "together", Version: "1", Summary: "Counts.",
		Vector: func(s plugin.Setup, _ struct{}) (plugin.Vector, error) { return counter.Open(s, nil) },
	})
}
