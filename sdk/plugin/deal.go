package plugin

import (
	"bytes"
	"crypto/sha256"
	"slices"
)

// Shares says how much of a finite list of tasks is held out; the rest is for
// training.
type Shares struct {
	Validation float64 `json:"validation"`
	Test       float64 `json:"test"`
}

// Valid reports whether every split gets something.
func (s Shares) Valid() bool {
	return s.Validation > 0 && s.Test > 0 && s.Validation+s.Test < 1 // NaN is not
}

// Deal returns the tasks of a split. All are put in an order that has nothing
// to do with how they came, by a hash of their keys, and are dealt from the
// front: test, validation, and the rest is for training. So no task is in two
// splits if no two have one key.
func Deal[T any](s Shares, all []T, key func(T) string, split string) []T {
	all = slices.Clone(all)
	slices.SortFunc(all, func(a, b T) int {
		x, y := sha256.Sum256([]byte(key(a))), sha256.Sum256([]byte(key(b)))
		return bytes.Compare(x[:], y[:])
	})
	test := int(s.Test * float64(len(all)))
	validation := test + int(s.Validation*float64(len(all)))
	switch split {
	case Test:
		return all[:test]
	case Validation:
		return all[test:validation]
	}
	return all[validation:]
}
