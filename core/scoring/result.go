package scoring

import (
	"encoding/json"
	"strings"

	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/data/columns"
)

// Result is one line of results, for one trajectory. It contains nothing that
// depends on the wall clock.
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

// resultTable returns the columns of a Parquet file of results, which do not
// depend on the results: metrics, whose names differ between rewards and rows,
// are a list of names and values.
func resultTable() *columns.Table {
	scalar := func(name string, k columns.Kind) columns.Field {
		return columns.Field{Name: name, Shape: columns.Shape{Kind: k}}
	}
	metrics := columns.Field{Name: "metrics", Shape: columns.Shape{Kind: columns.Entries, Fields: []columns.Field{
		scalar("name", columns.String), scalar("score", columns.Double), scalar("is_score_valid", columns.Bool), scalar("reason", columns.String),
	}}}
	step := columns.Shape{Kind: columns.Object, Fields: []columns.Field{
		scalar("step_index", columns.Int), scalar("base_reward", columns.Double), metrics, scalar("reason", columns.String),
	}}
	return &columns.Table{Note: "results", Columns: []columns.Field{
		scalar("id", columns.String), scalar("outcome", columns.String), scalar("score", columns.Double),
		{Name: "step_outputs", Shape: columns.Shape{Kind: columns.List, Elem: &step}},
		metrics, scalar("reason", columns.String), scalar("fuel", columns.Uint), scalar("reward_notes", columns.JSON),
	}}
}

// NewResult returns the result of evaluation e of t.
func NewResult(t *rl.Trajectory, e reward.Evaluation) Result {
	r := Result{ID: t.ID, Outcome: e.Outcome, StepOutputs: []rl.StepOutput{}, Reason: e.Reason, Fuel: e.Fuel, Notes: e.Notes}
	if e.Outcome == reward.Scored {
		r.Score, r.Reason = &e.Result.Score, e.Result.Reason
		r.Metrics = e.Result.Metrics
		r.StepOutputs = append(r.StepOutputs, e.Result.StepOutputs...)
	}
	if said, _, _ := strings.Cut(e.Log, "\n"); e.Outcome == reward.Trap && said != "" {
		r.Reason += ": " + said // the message of a panic
	}
	return r
}
