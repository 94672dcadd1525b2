package plugin

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"slices"
)

// Shares are the shares of a finite list of tasks that are held out for
// validation and test; the rest is for training.
type Shares struct {
	Validation float64 `json:"validation" doc:"share of the tasks for validation"`
	Test       float64 `json:"test" doc:"share of the tasks for the test"`
}

// Valid reports whether every split gets a share.
func (s Shares) Valid() bool {
	return s.Validation > 0 && s.Test > 0 && s.Validation+s.Test < 1 // false for NaN
}

// Of returns the split of a task that is drawn rather than listed. hash is 64
// well-mixed bits, such as random.Hash of the task in a form that is the same
// for all equivalent tasks. If the task belongs to another split, draw again.
func (s Shares) Of(hash uint64) string {
	switch u := float64(hash>>11) * 0x1p-53; {
	case u < s.Test:
		return Test
	case u < s.Test+s.Validation:
		return Validation
	default:
		return Train
	}
}

// Deal returns the tasks of a split. It sorts all tasks by a hash of their
// keys, so that their original order does not matter. The first tasks are for
// test, the next for validation, and the rest for training. If no two tasks
// have the same key, no task is in two splits.
func Deal[T any](s Shares, all []T, key func(T) string, split string) []T {
	order := make([]place, len(all))
	for i, task := range all {
		order[i] = place{sha256.Sum256([]byte(key(task))), i}
	}
	slices.SortFunc(order, func(a, b place) int {
		return cmp.Or(bytes.Compare(a.hash[:], b.hash[:]), cmp.Compare(a.at, b.at))
	})
	test := int(s.Test * float64(len(all)))
	validation := test + int(s.Validation*float64(len(all)))
	switch split {
	case Test:
		order = order[:test]
	case Validation:
		order = order[test:validation]
	default:
		order = order[validation:]
	}
	share := make([]T, len(order))
	for i, p := range order {
		share[i] = all[p.at]
	}
	return share
}

// place is the hash of a task and its index in the list of all tasks.
type place struct {
	hash [sha256.Size]byte
	at   int
}
