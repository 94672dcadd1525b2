package plugin

import (
	"bytes"
	"cmp"
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

// Of returns the split that a task belongs to which is drawn, not listed: by 64
// well-mixed bits, such as random.Hash of the task in one form for all that are
// alike. A draw that belongs to another split is drawn again.
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

// Deal returns the tasks of a split. All are put in an order that has nothing
// to do with how they came, by a hash of their keys, and are dealt from the
// front: test, validation, and the rest is for training. So no task is in two
// splits if no two have one key.
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

// place is where a task stands in the order by hashes, and among all.
type place struct {
	hash [sha256.Size]byte
	at   int
}
