package shape

import (
	"encoding/json"

	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/core/scoring"
)

// evalProtocol reads {"messages", "ground_truth", "kwargs"}, the body of the
// generic server (generic_server.py: EvaluationRequest). RewardFunction in mode
// "remote" puts its keyword arguments beside messages instead of into kwargs
// (reward_function.py: payload), and for a ground truth of None the messages
// but the last.
func (d *decoder) evalProtocol(o object) []*rl.Trajectory {
	t := &rl.Trajectory{
		ID:          "request",
		Messages:    d.chat("messages", o.values["messages"]),
		GroundTruth: o.get("ground_truth"),
	}
	c := columns{decoder: d}
	c.add("body", o, "messages", "ground_truth", "kwargs")
	if raw := o.get("kwargs"); raw != nil {
		if kwargs, ok := d.object("kwargs", raw); ok {
			c.add("kwargs", kwargs)
		}
	}
	t.Metadata = c.kept
	return []*rl.Trajectory{t}
}

// evalResult is eval-protocol's EvaluateResult (models.py), with an outcome that
// its clients do not read.
type evalResult struct {
	Score       *decimal              `json:"score"`
	Valid       bool                  `json:"is_score_valid"`
	Reason      string                `json:"reason"`
	Metrics     map[string]evalMetric `json:"metrics"`
	StepOutputs []rl.StepOutput       `json:"step_outputs"`
	Error       string                `json:"error,omitempty"`
	Outcome     reward.Outcome        `json:"outcome"`
}

// evalMetric is eval-protocol's MetricResult. RewardFunction takes its validity
// from success, which no model of eval-protocol has.
type evalMetric struct {
	Score   float64 `json:"score"`
	Valid   bool    `json:"is_score_valid"`
	Success bool    `json:"success"`
	Reason  string  `json:"reason"`
}

func evaluateResult(x scoring.Result, score *float64) ([]byte, error) {
	r := evalResult{
		Score: (*decimal)(score), Valid: x.Outcome == reward.Scored, Reason: x.Reason,
		Metrics: map[string]evalMetric{}, StepOutputs: x.StepOutputs, Outcome: x.Outcome,
	}
	if !r.Valid {
		r.Error = string(x.Outcome)
		if x.Reason != "" {
			r.Error += ": " + x.Reason
		}
	}
	for _, m := range x.Metrics {
		r.Metrics[m.Name] = evalMetric{m.Score, m.IsScoreValid, m.IsScoreValid, m.Reason}
	}
	if r.StepOutputs == nil {
		r.StepOutputs = []rl.StepOutput{}
	}
	return json.Marshal(r)
}
