// Package fork holds states of guests between two calls, so that an instance can
// return to any of them: snapshots for branching rollouts. A Point is a state, stored
// as its difference from the state in which all instances of a module begin, the
// origin. Points share what they have in common. A Store keeps points within a budget
// of memory, and Encode and Decode carry them to another process.
//
// A point is the whole state: memory and its size, mutable globals, and what the host
// keeps for a guest (clock, random numbers, open files). Fuel is not part of it:
// Instance.Begin sets it, and a series of calls from a point uses the same fuel as the
// same series after the prefix was played again.
//
//	before, err := instance.Fork()     // costs what changed since the last Fork or Resume
//	kept := store.Keep(before)         // within the budget of the store
//	…                                  // steps
//	point, err := kept.Point()         // ErrDropped: play the prefix again
//	err = other.Resume(point)          // any instance with the same origin
package fork

import (
	"errors"

	"github.com/merit-rl/merit/sandbox/internal/engine/wasi"
)

// Point is a state of an instance between two calls. It never changes, and may be
// used by any number of goroutines.
type Point struct {
	Origin  *Origin
	Globals []uint64
	System  wasi.State
	Pages   *Pages // empty if the module has no memory
}

// Origin identifies the state from which points differ: the one of a started module.
type Origin struct {
	// Sum is a digest of the module, its limits, the version of the meter, the
	// files and arguments of its processes, and the state itself.
	Sum   [32]byte
	Files *wasi.Files // what open files are part of; nil = none
}

// Is reports whether points of other are also points of o.
func (o *Origin) Is(other *Origin) bool { return o == other || o.Sum == other.Sum }

// Errors of Store, Decode and of the instance's methods; test for them with errors.Is.
var (
	// ErrDropped means that the store dropped a point to stay within its budget.
	// The prefix must be played again.
	ErrDropped = errors.New("the snapshot was dropped to stay within the budget of memory")
	// ErrForeign means that a point belongs to another module, another
	// configuration of it, or another version of Merit.
	ErrForeign = errors.New("the snapshot belongs to another module, to another configuration of it, or to another version of Merit")
	// ErrUnsupported means that the module can change state that a point cannot
	// hold, such as tables. The prefix must be played again.
	ErrUnsupported = errors.New("the module changes tables or imported state, which a snapshot cannot hold")
	// ErrStopped means that the last call of the instance trapped or was stopped:
	// its state is not one between two calls. Resume and Restore repair it.
	ErrStopped = errors.New("the last call did not return, so the instance has no state between calls")
	// ErrVersion means that an encoding has an unknown version.
	ErrVersion = errors.New("the snapshots have a format that this version of Merit does not read")
	// ErrTruncated means that an encoding ends early.
	ErrTruncated = errors.New("the snapshots are truncated")
	// ErrCorrupt means that an encoding is not one, or fails its checksum.
	ErrCorrupt = errors.New("the snapshots are corrupt")
	// ErrTooLarge means that an encoding is larger than the caller allows.
	ErrTooLarge = errors.New("the snapshots are larger than the budget of memory")
)
