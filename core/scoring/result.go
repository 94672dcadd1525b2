package scoring

import (
	"encoding/json"
	"strings"

	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
)

// Result is what one line of results says about one trajectory. It holds
// nothing that the wall clock decides.
type Result struct {
	ID          string          `json:"id"`
	Outcome     reward.Outcome  `json:"outcome"`
	Score       *float64        `json:"score"` // null unless scored
	StepOutputs []rl.StepOutput `json:"step_outputs"`
	Metrics     rl.Metrics      `json:"metrics"`
	Reason      string          `json:"reason"`
	Fuel        uint64          `json:"fuel"`

	Notes map[string]json.RawMessage `json:"reward_notes,omitempty"`
}

// NewResult says what e means for t.
func NewResult(t *rl.Trajectory, e reward.Evaluation) Result {
	r := Result{ID: t.ID, Outcome: e.Outcome, StepOutputs: []rl.StepOutput{}, Reason: e.Reason, Fuel: e.Fuel, Notes: e.Notes}
	if e.Outcome == reward.Scored {
		r.Score, r.Reason = &e.Result.Score, e.Result.Reason
		r.Metrics = e.Result.Metrics
		r.StepOutputs = append(r.StepOutputs, e.Result.StepOutputs...)
	}
	if said, _, _ := strings.Cut(e.Log, "\n"); e.Outcome == reward.Trap && said != "" {
		r.Reason += ": " + said // a panic's own words
	}
	return r
}
