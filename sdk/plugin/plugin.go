// Package plugin is what the author of an environment or a policy imports:
// describe the environment in a Definition, write one slot of it, and hand it
// to Serve.
//
//	func main() {
//		plugin.Serve(plugin.Definition[Options]{
//			Name: "maze", Version: "1.0.0", Summary: "Find the way out.",
//			Defaults: Options{Size: 8},
//			New:      newMaze, // func(plugin.Setup, Options) (plugin.Environment, error)
//		})
//	}
//
// The Example is a whole environment. A policy is a PolicyDefinition with an
// Act for one request, handed to ServePolicy, whose example is a whole one; a
// Learner is one that learns. Merit starts the binary, which then lives as long
// as Merit does. Open of either definition gives the same within a process, for
// tests.
//
// It is all of Merit that a plug-in needs; what crosses the process and how is
// in sdk/plugin/proto and internal/wire.
package plugin

import (
	"errors"
	"fmt"

	"github.com/merit-rl/merit/core/env"
)

// Spec describes an environment. The SDK fills in Name, Version and Slots.
type Spec = env.Spec

// Definition is an environment that a plug-in offers. Options is a struct
// with json tags; exactly one of New and Vector is set.
type Definition[Options any] struct {
	Name    string
	Version string
	Summary string // one sentence, for lists
	// Defaults are the options of a user who sets none; what a user sets is
	// decoded over them, strictly.
	Defaults Options
	// Check, if set, returns all that is wrong with the options, joined: see
	// Problem. It is called before New or Vector, and also when some options
	// could not be decoded, which then have their defaults, so that a user
	// hears everything at once.
	Check func(Setup, Options) error
	// New builds an environment whose slots are written one at a time.
	New func(Setup, Options) (Environment, error)
	// Vector builds an environment that steps all its slots together.
	Vector func(Setup, Options) (Vector, error)
}

// Setup is what the host asks of an environment besides its options.
type Setup struct {
	Slots int    // how many slots will step together, at least 1
	Split string // which share of the tasks: Train, Validation or Test
}

// The splits. Their tasks are disjoint.
const (
	Train      = "train"
	Validation = "validation"
	Test       = "test"
)

// Environment is a configured environment, written for one slot at a time.
// Nothing of it is called from two goroutines at once.
type Environment interface {
	// Spec describes it; it never changes.
	Spec() Spec
	// NewSlot returns a slot that shares no mutable state with the others.
	NewSlot() (Slot, error)
}

// Slot plays one episode at a time. An error, or a panic, breaks this slot
// only: the host hears why and resets it. A slot that implements
// fmt.Stringer renders itself for people; io.Closer is called at the end.
type Slot interface {
	// Reset starts the episode of the seed: the same seed is the same start.
	Reset(seed uint64, turn *Turn) error
	// Step applies an action. It is not called before Reset or after the end
	// of an episode.
	Step(action Action, turn *Turn) error
}

// Action is what the policy chose.
type Action struct {
	Index int    // into Spec.Actions
	Text  string // where Spec.Actions is empty
}

// Vector is an environment that steps all slots at once: the interface that
// the host sees, without a layer between. See core/env for its contract.
type Vector = env.Env

func (d Definition[Options]) check() error {
	var errs []error
	if d.Name == "" || d.Version == "" {
		errs = append(errs, errors.New("a plugin.Definition needs a Name and a Version"))
	}
	if (d.New == nil) == (d.Vector == nil) {
		errs = append(errs, fmt.Errorf("plugin.Definition %q needs one of New and Vector", d.Name))
	}
	return errors.Join(errs...)
}
