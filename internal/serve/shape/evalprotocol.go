package shape

import (
	"encoding/json"
	"reflect"

	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/core/scoring"
	"github.com/merit-rl/merit/internal/base/strictjson"
)

// evalProtocol reads {"messages", "ground_truth", "kwargs"}, the body of the
// generic server (generic_server.py: EvaluationRequest). RewardFunction in mode
// "remote" puts its keyword arguments beside messages instead of into kwargs
// (reward_function.py: payload), and for a ground truth of None the messages
// but the last. Its protocol has no field for where the prompt ends: an argument
// prompt_messages says it, and so does a prompt that is sent beside the messages.
func (d *decoder) evalProtocol(o object) []made {
	messages := d.chat("messages", o.values["messages"])
	c := columns{decoder: d}
	c.add("body", o, "messages", "ground_truth", "kwargs")
	if raw := o.get("kwargs"); raw != nil {
		if kwargs, ok := d.object("kwargs", raw); ok {
			c.add("kwargs", kwargs)
		}
	}
	return []made{{
		id: "request", messages: o.values["messages"], truth: o.get("ground_truth"),
		asked: c.asked(messages, o.get("ground_truth")), columns: c.kept,
	}}
}

// asked finds how many messages are the prompt's, nil if nobody said: by
// prompt_messages, by reward-kit's original_messages, or by a ground truth that is
// all messages but the last, which the client sends where there is none.
func (c *columns) asked(messages []rl.Message, truth json.RawMessage) *int {
	var n int
	if said, ok := c.kept.values["prompt_messages"]; ok && strictjson.Unmarshal(said, &n) == nil {
		c.take("prompt_messages")
		return &n
	}
	for _, prompt := range []json.RawMessage{c.kept.values["original_messages"], truth} {
		var before []rl.Message
		if strictjson.Unmarshal(prompt, &before) == nil && len(before) == len(messages)-1 && len(before) > 0 && reflect.DeepEqual(before, messages[:len(before)]) {
			n = len(before)
			return &n
		}
	}
	return nil
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
