package openenv

import (
	"github.com/merit-rl/merit/internal/wire"
	"github.com/merit-rl/merit/plugins/internal/parallel"
	"github.com/merit-rl/merit/sdk/plugin"
)

// newVector returns a vector of n slots with a session each.
func newVector(g *game, n int) plugin.Vector {
	slots := make([]parallel.Slot, n)
	for i := range slots {
		slots[i] = &slot{game: g, number: i}
	}
	return parallel.New(g.spec(n), slots, nil)
}

// spec describes the environment with n slots.
func (g *game) spec(n int) plugin.Spec {
	o := g.options
	s := plugin.Spec{Slots: n, MaxSteps: o.MaxSteps, System: wire.Cut(o.System, wire.MaxSystem), FeatureShape: o.Observation.Shape, Tools: g.tools}
	if len(s.FeatureShape) == 0 {
		s.FeatureShape = nil
	}
	for _, c := range o.Action.Choices {
		s.Actions = append(s.Actions, c.Name)
	}
	return s
}
