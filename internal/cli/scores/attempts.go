package scores

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/core/scoring"
	"github.com/merit-rl/merit/internal/base/attempts"
	"github.com/merit-rl/merit/internal/cli/console"
	"github.com/merit-rl/merit/internal/cli/terminal"
)

// PassAt returns the numbers of --pass-at in ascending order, each once.
func PassAt(cmd *cobra.Command, ks []int) ([]int, error) {
	sorted, wrong := attempts.Sorted(ks)
	if wrong != nil {
		return nil, console.Usage(cmd, fmt.Sprintf("use 1 to %d", attempts.Most), "--pass-at %d is not allowed", *wrong)
	}
	return sorted, nil
}

// Attempts counts the completions of a file by task: their group, or else their prompt and
// ground truth. The zero value is empty.
type Attempts struct {
	tally   attempts.Tally
	prompts map[[sha256.Size]byte]string // names of tasks without a group
}

// Note counts a result. A score above success is a success.
func (a *Attempts) Note(t *rl.Trajectory, r *scoring.Result, success float64) {
	a.tally.Add(a.task(t), "", r.Score != nil, r.Score != nil && *r.Score > success)
}

// task names what t is an attempt at.
func (a *Attempts) task(t *rl.Trajectory) string {
	if t.Group != "" && !t.Ungrouped {
		return "group " + t.Group
	}
	given, known := t.Boundary()
	for i := 0; !known && i < len(t.Messages) && t.Messages[i].Role != rl.RoleAssistant; i++ {
		given = i + 1
	}
	text, _ := json.Marshal(t.Messages[:min(given, len(t.Messages))]) // messages were read from JSON
	key := sha256.Sum256(append(append(text, 0), t.GroundTruth...))
	if _, ok := a.prompts[key]; !ok {
		if a.prompts == nil {
			a.prompts = map[[sha256.Size]byte]string{}
		}
		a.prompts[key] = "the prompt of " + t.ID
	}
	return a.prompts[key]
}

// Lacking returns the error of too few completions for one of ks.
func (a *Attempts) Lacking(ks []int) error {
	for _, k := range ks {
		if why := a.tally.Lacking(k); why != "" {
			return &fault.Error{
				Boundary: fault.Data, Kind: fault.Invalid, Where: "--pass-at", What: why,
				Hint: "generate more completions of each prompt; if a column says which rows belong together, use --map group=COLUMN",
			}
		}
	}
	return nil
}

// Rates returns pass@k and pass^k; none if completions are too few.
func (a *Attempts) Rates(ks []int) []attempts.Rate {
	if a.Lacking(ks) != nil {
		return nil
	}
	return a.tally.Rates(ks)
}

// Pass formats pass@k or pass^k.
func Pass(r attempts.Rate) string {
	return fmt.Sprintf("%s  [%.1f, %.1f]  (%d tasks)", terminal.Percent(r.Mean), 100*r.Interval[0], 100*r.Interval[1], r.Tasks)
}
