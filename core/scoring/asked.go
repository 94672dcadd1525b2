package scoring

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
)

// Asked finds the parameters of rewards that no column of the data fills: each
// has its default in every evaluation, and the scores mean nothing. The nil
// pointer asks for nothing.
type Asked struct {
	mu      sync.Mutex
	open    []asked
	columns map[string]bool // that some trajectory had, bounded
}

type asked struct {
	reward.Parameter
	function string
}

// mostColumns is how many names of columns are remembered.
const mostColumns = 256

// NewAsked returns what parts ask for, nil if that is nothing.
func NewAsked(parts []reward.Weighted) *Asked {
	a := &Asked{columns: map[string]bool{}}
	for _, part := range parts {
		e := part.Scorer.Info().Entry
		if e == nil {
			continue
		}
		for _, p := range e.Asks {
			a.open = append(a.open, asked{p, e.Function})
		}
	}
	if len(a.open) == 0 {
		return nil
	}
	return a
}

// Note looks at the columns of a trajectory.
func (a *Asked) Note(t *rl.Trajectory) {
	if a == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.open) == 0 {
		return
	}
	truth := len(t.GroundTruth) > 0
	a.open = slices.DeleteFunc(a.open, func(p asked) bool {
		_, filled := t.Metadata[p.Name]
		return filled || p.OrTruth && truth || t.ID != "" && p.Name == "id" || t.Group != "" && p.Name == "group" || t.Task != "" && p.Name == "task"
	})
	for name := range t.Metadata {
		if len(a.columns) < mostColumns {
			a.columns[name] = true
		}
	}
	if truth {
		a.columns["ground_truth"] = true
	}
}

// Unfilled says which parameters nothing has filled so far, an error for each
// with the nearest column. A setting, which has a default of its own, is one only
// if a column is called nearly the same.
func (a *Asked) Unfilled() (problems []error) {
	if a == nil {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	columns := slices.Sorted(maps.Keys(a.columns))
	for _, p := range a.open {
		near := fault.Nearest(p.Name, append(slices.Clone(columns), "ground_truth", "messages", "metadata"))
		if p.Need == reward.Setting && !a.columns[near] {
			continue
		}
		hint := "rename the parameter, or the column"
		if near != "" {
			hint = fmt.Sprintf("did you mean %s? Rename the parameter, or the column", near)
		}
		had := "there are no columns"
		if len(columns) > 0 {
			had = "the columns are: " + strings.Join(columns, ", ")
		}
		problems = append(problems, &fault.Error{
			Boundary: fault.Data, Kind: fault.Missing, Where: p.function,
			What: fmt.Sprintf("nothing fills the parameter %s; %s", p.Name, had),
			Hint: hint + fmt.Sprintf("; or give it a value: --with '{%q: …}'", p.Name),
		})
	}
	return problems
}
