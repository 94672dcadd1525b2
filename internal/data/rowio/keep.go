package rowio

import (
	"fmt"
	"maps"
	"slices"

	"github.com/merit-rl/merit/core/advantage"
	"github.com/merit-rl/merit/internal/keptgraph"
)

// Keep prepares the rows for tigpo: it gives each group the steps of the groups of earlier
// iterations. The field iteration of a row is its iteration; without it, the whole file is one.
// It does nothing for other estimators. The error is an [advantage.RowError].
func (t *Table) Keep(cfg advantage.Config) error {
	kept := keptgraph.New(cfg)
	if kept == nil {
		return nil
	}
	of := map[int32]int32{} // group to iteration
	rows := map[int32][]int32{}
	for i, g := range t.Rows.Group {
		if t.iterations[i] == wrongIteration {
			return &advantage.RowError{Row: i, What: "iteration is not a whole number from 0"}
		}
		n, known := of[g]
		if known && n != t.iterations[i] {
			return &advantage.RowError{Row: i, What: fmt.Sprintf("the group has rows of %s and of %s", iteration(n), iteration(t.iterations[i]))}
		}
		of[g] = t.iterations[i]
		rows[of[g]] = append(rows[of[g]], int32(i))
	}
	for _, n := range slices.Sorted(maps.Keys(rows)) {
		kept.Reach(&t.Rows, rows[n])
		kept.Add(&t.Rows, rows[n])
	}
	return nil
}

func iteration(n int32) string {
	if n < 0 {
		return "no iteration"
	}
	return fmt.Sprintf("iteration %d", n)
}
