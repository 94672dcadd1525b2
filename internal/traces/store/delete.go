package store

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/merit-rl/merit/core/fault"
)

// Delete removes traces by their ids. If any of them is not in the store, it removes
// none, and the error is fault.Missing and lists them.
func (s *Store) Delete(ctx context.Context, ids []string) (Pruned, error) {
	keys := make([][]any, 0, len(ids))
	for _, id := range slices.Compact(slices.Sorted(slices.Values(ids))) {
		keys = append(keys, []any{id})
	}
	var total Pruned
	err := s.change(ctx, func(t *txn) error {
		total = Pruned{}
		gone, err := t.found("id", "TEXT", keys)
		if err != nil {
			return err
		}
		if len(gone) < len(keys) {
			return missing(keys, gone)
		}
		for _, v := range gone {
			total.Traces++
			total.Spans += v.spans
			total.Bytes += v.bytes
		}
		return t.remove(gone)
	})
	if err != nil {
		return Pruned{}, err
	}
	return total, s.shrink(ctx, total, false)
}

// missing returns an error that lists the ids of keys that were not found.
func missing(keys [][]any, found []victim) error {
	var lost []string
	for _, key := range keys {
		if !slices.ContainsFunc(found, func(v victim) bool { return v.id == key[0] }) {
			lost = append(lost, fmt.Sprintf("%.130q", key[0]))
		}
	}
	return &fault.Error{
		Boundary: fault.Storage, Kind: fault.Missing, Where: "trace " + strings.Join(lost[:min(len(lost), 10)], ", "),
		What: fmt.Sprintf("the store has no trace with this id (%d of %d), so nothing was removed", len(lost), len(keys)), Hint: "list the traces with merit traces list",
	}
}
