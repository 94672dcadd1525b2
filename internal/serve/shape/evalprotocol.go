package shape

import (
	"encoding/json"
	"reflect"

	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/core/scoring"
	"github.com/merit-rl/merit/internal/base/strictjson"
)

// evalProtocol reads {"messages", "ground_truth", "kwargs"}, the body that the generic server
// accepts (generic_server.py: EvaluationRequest). RewardFunction in mode "remote" puts its
// keyword arguments next to messages instead of into kwargs (reward_function.py: payload), and
// if the ground truth is None, it sends all messages but the last as ground truth. The protocol
// has no field for the end of the prompt: an argument prompt_messages gives it, or a prompt
// that is sent in addition to the messages.
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

// asked returns how many messages belong to the prompt, or nil if that is unknown. It is given
// by prompt_messages, by reward-kit's original_messages, or by a ground truth that equals all
// messages but the last, which the client sends if there is no ground truth.
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

// evalResult is eval-protocol's EvaluateResult (models.py), plus an outcome that its clients
// ignore.
type evalResult struct {
	Score       *decimal              `json:"score"`
	Valid       bool                  `json:"is_score_valid"`
	Reason      string                `json:"reason"`
	Metrics     map[string]evalMetric `json:"metrics"`
	StepOutputs []rl.StepOutput       `json:"step_outputs"`
	Error       string                `json:"error,omitempty"`
	Outcome     reward.Outcome        `json:"outcome"`
}

// evalMetric is eval-protocol's MetricResult. RewardFunction reads the validity from success,
// which no model of eval-protocol has.
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
