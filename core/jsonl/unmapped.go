package jsonl

import (
	"fmt"
	"slices"
	"strings"

	"github.com/merit-rl/merit/core/fault"
)

// Unmapped is the error of data without messages. Map is what would take them,
// and what else is usual, from the columns that there are.
type Unmapped struct {
	Err *fault.Error
	Map string
}

// Error lists the columns.
func (u *Unmapped) Error() string { return u.Err.Error() }

// Unwrap returns the *fault.Error behind u.
func (u *Unmapped) Unwrap() error { return u.Err }

// Names under which data sets have what a trajectory needs, the best first.
var (
	usualMessages   = []string{"conversations", "conversation", "chat", "dialog", "dialogue", "turns", "msgs"}
	usualPrompt     = []string{"prompt", "question", "problem", "instruction", "query", "input"}
	usualCompletion = []string{"completion", "response", "output", "generation", "generated_text", "model_output", "prediction", "reply", "chosen"}
	usualTruth      = []string{"ground_truth", "answer", "label", "target", "reference", "solution", "expected", "reward_model.ground_truth"}
)

// unmapped is the error of data with these columns.
func unmapped(columns []string) *Unmapped {
	proposal := propose(columns)
	return &Unmapped{Map: proposal, Err: &fault.Error{
		Boundary: fault.Data, Kind: fault.Invalid,
		What: fmt.Sprintf("there are no messages; the columns are: %s", strings.Join(columns, ", ")),
		Hint: `a row needs "messages": [{"role": …, "content": …}, …], or a map of columns: ` + proposal,
	}}
}

// propose maps columns by the names that data sets usually give them.
func propose(columns []string) string {
	const none = "COLUMN"
	first := func(usual []string) string {
		for _, name := range usual {
			top, _, _ := strings.Cut(name, ".")
			if slices.Contains(columns, top) {
				return name
			}
		}
		return none
	}
	var parts []string
	if messages := first(usualMessages); messages != none {
		parts = append(parts, nameMessages+"="+messages)
	} else {
		parts = append(parts, namePrompt+"="+first(usualPrompt), nameCompletion+"="+first(usualCompletion))
	}
	if truth := first(usualTruth); truth != none && truth != "ground_truth" {
		parts = append(parts, "ground_truth="+truth)
	}
	return strings.Join(parts, ",")
}
