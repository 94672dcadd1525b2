package learn

// State is everything of a learner that outlives its process. Its slices are
// copies.
type State struct {
	Architecture string    // see Policy.Architecture
	Updates      uint64    // calls of Update: the policy's version and the schedule's position
	Steps        uint64    // optimiser steps: Adam's clock
	Params       []float32 // the parameters
	First        []float32 // Adam's mean of the gradient
	Second       []float32 // Adam's mean of its square
	Reference    []float32 // initial parameters for the KL term; nil if it does not need them
}

// Snapshot returns the state of l.
func (l *Learner) Snapshot() State { return State{} }

// Restore puts l and its policy into state s. A state of another architecture
// is an error and changes nothing.
func (l *Learner) Restore(s State) error { return nil }
