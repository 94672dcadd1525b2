// Package plugin is the SDK for authors of environments and policies. Describe an
// environment in a Definition, write the code of one slot, and pass the Definition
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
// The Example is a complete environment. For a policy, pass a PolicyDefinition to
// ServePolicy; its example is a complete policy. A Policy acts on one request at a
// time, and a Learner is a Policy that learns. Merit starts the binary and stops it
// when Merit exits. For tests, Open of either definition opens the same environment
// or policy in the current process.
//
// A plug-in needs no other package of Merit. sdk/plugin/proto and internal/wire
// define the protocol between the processes.
package plugin

import (
	"errors"
	"fmt"

	"github.com/merit-rl/merit/core/env"
)

// Spec describes an environment. The SDK fills in Name, Version and Slots.
type Spec = env.Spec

// Definition describes the environment that a plug-in offers. Options is a
// struct with json tags. Exactly one of New and Vector must be set.
type Definition[Options any] struct {
	Name    string
	Version string
	Summary string // one sentence for lists
	// Defaults are the default options. The options that a user sets are
	// decoded over them; unknown keys are errors.
	Defaults Options
	// Check, if set, returns all problems of the options, joined; see Problem.
	// It is called before New or Vector, even if some options could not be
	// decoded. Those have their default values then, so that a user sees all
	// problems at once.
	Check func(Setup, Options) error
	// New creates an environment that is written for one slot at a time.
	New func(Setup, Options) (Environment, error)
	// Vector creates an environment that steps all its slots together.
	Vector func(Setup, Options) (Vector, error)
}

// Setup is what the host sets for an environment, besides its options.
type Setup struct {
	Slots int    // the number of slots that step together, at least 1
	Split string // the share of the tasks to play: Train, Validation or Test
}

// The splits. No task is in two of them.
const (
	Train      = "train"
	Validation = "validation"
	Test       = "test"
)

// Environment is a configured environment that is written for one slot at a
// time. The SDK never calls it from two goroutines at once.
type Environment interface {
	// Spec describes the environment. It always returns the same value.
	Spec() Spec
	// NewSlot returns a slot that shares no mutable state with the others.
	NewSlot() (Slot, error)
}

// Slot plays one episode at a time. After an error or a panic, only this slot
// is unusable: the host receives the message and resets the slot. A Slot that
// implements fmt.Stringer renders itself for people; one that implements
// io.Closer is closed when the environment closes.
type Slot interface {
	// Reset starts the episode of the seed: the same seed always gives the same
	// start.
	Reset(seed uint64, turn *Turn) error
	// Step applies an action. It is never called before Reset or after the end
	// of an episode.
	Step(action Action, turn *Turn) error
}

// Encoder is an optional interface of an Environment: it reads calls of a language model
// that played the environment as text, so that a policy that reads features learns from
// recorded traces.
type Encoder interface {
	// Encode fills turn with the observation of a recorded call (the anchor, the features
	// and the mask), as a slot would have. messages are the texts of the call's input, the
	// newest last, which usually is the observation. Encode returns the index of the action
	// in the answer, or −1 to let Merit look for the name of an action in it. If the call
	// is not one of this environment's, it returns turn.Refuse.
	Encode(messages []string, answer string, turn *Turn) (action int, err error)
}

// Action is the policy's choice.
type Action struct {
	Index int    // index into Spec.Actions
	Text  string // the text, if Spec.Actions is empty
}

// Vector is an environment that steps all slots at once. It is the interface
// that the host uses, without a layer between; see core/env for its contract.
type Vector = env.Env

func (d Definition[Options]) check() error {
	var errs []error
	if d.Name == "" || d.Version == "" {
		errs = append(errs, errors.New("a plugin.Definition needs a Name and a Version"))
	}
	if (d.New == nil) == (d.Vector == nil) {
		errs = append(errs, fmt.Errorf("plugin.Definition %q needs exactly one of New and Vector", d.Name))
	}
	return errors.Join(errs...)
}
