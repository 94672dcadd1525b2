package rl

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/merit-rl/merit/internal/base/strictjson"
)

// EvaluateResult is the result of a reward function for one trajectory, in the
// JSON form of eval-protocol (reward-kit).
type EvaluateResult struct {
	Score        float64      `json:"score"`
	IsScoreValid bool         `json:"is_score_valid"`
	Reason       string       `json:"reason,omitempty"`
	Metrics      Metrics      `json:"metrics,omitempty"`
	StepOutputs  []StepOutput `json:"step_outputs,omitempty"`
	Error        string       `json:"error,omitempty"`
}

// UnmarshalJSON reads eval-protocol's form: is_score_valid defaults to true. A
// valid result must have a score: one that is missing is not 0.
func (r *EvaluateResult) UnmarshalJSON(data []byte) error {
	type plain EvaluateResult
	p := struct {
		plain
		Score *float64 `json:"score"`
	}{plain: plain{IsScoreValid: true}}
	if string(bytes.TrimSpace(data)) == "null" {
		return errors.New("a result is null")
	}
	if err := strictjson.Unmarshal(data, &p); err != nil {
		return err
	}
	if p.Score != nil {
		p.plain.Score = *p.Score
	} else if p.IsScoreValid {
		return errors.New("an evaluation has no score")
	}
	*r = EvaluateResult(p.plain)
	return nil
}

// StepOutput is the base reward of one step.
type StepOutput struct {
	StepIndex  StepIndex `json:"step_index"`
	BaseReward float64   `json:"base_reward"`
	Metrics    Metrics   `json:"metrics,omitempty"`
	Reason     string    `json:"reason,omitempty"`
}

// UnmarshalJSON reads a step output, which must have both an index and a
// reward.
func (s *StepOutput) UnmarshalJSON(data []byte) error {
	type plain StepOutput
	p := struct {
		plain
		StepIndex  *StepIndex `json:"step_index"`
		BaseReward *float64   `json:"base_reward"`
	}{}
	if err := strictjson.Unmarshal(data, &p); err != nil {
		return err
	}
	if p.StepIndex == nil || p.BaseReward == nil {
		return errors.New("a step output needs step_index and base_reward")
	}
	*s = StepOutput(p.plain)
	s.StepIndex, s.BaseReward = *p.StepIndex, *p.BaseReward
	return nil
}

// StepIndex is a step's number: by default among the assistant messages,
// 0-based. eval-protocol also writes it as a string of digits.
type StepIndex int

// UnmarshalJSON reads 3 and "3".
func (i *StepIndex) UnmarshalJSON(data []byte) error {
	s := string(bytes.Trim(bytes.TrimSpace(data), `"`))
	n, err := strconv.Atoi(s)
	if err != nil {
		return fmt.Errorf("step_index must be a whole number, not %.40s", data)
	}
	*i = StepIndex(n)
	return nil
}

// Metric is one named measurement in addition to the score.
type Metric struct {
	Name         string
	Score        float64
	IsScoreValid bool
	Reason       string
	// Weight says that the metric is one of several rewards, whose weighted sum is the
	// score; nil = it is not.
	Weight *float64
}

// Metrics is a JSON object of named metrics that keeps the author's order.
type Metrics []Metric

// Get returns the metric called name.
func (m Metrics) Get(name string) (Metric, bool) {
	for _, x := range m {
		if x.Name == name {
			return x, true
		}
	}
	return Metric{}, false
}

type metricJSON struct {
	Score        float64 `json:"score"`
	IsScoreValid bool    `json:"is_score_valid"`
	Reason       string  `json:"reason"` // eval-protocol requires it

	Weight *float64 `json:"weight,omitempty"`
}

// MarshalJSON writes {"name": {"score": …, "is_score_valid": …, "reason": …}}.
func (m Metrics) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, x := range m {
		if i > 0 {
			b.WriteByte(',')
		}
		name, err := json.Marshal(x.Name)
		if err != nil {
			return nil, err
		}
		value, err := json.Marshal(metricJSON{x.Score, x.IsScoreValid, x.Reason, x.Weight})
		if err != nil {
			return nil, fmt.Errorf("metric %s: %w", name, err)
		}
		b.Write(name)
		b.WriteByte(':')
		b.Write(value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// UnmarshalJSON reads an object whose values are MetricResult objects or, as
// step metrics of eval-protocol may be, bare numbers, booleans and strings. A
// bare string becomes a reason without a valid score.
func (m *Metrics) UnmarshalJSON(data []byte) error {
	*m = nil
	if string(bytes.TrimSpace(data)) == "null" {
		return nil
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return fmt.Errorf("metrics must be an object, not %.40s", data)
	}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return err
		}
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			return err
		}
		x, err := parseMetric(raw)
		if err != nil {
			return fmt.Errorf("metric %q: %w", key, err)
		}
		x.Name = key.(string)
		*m = append(*m, x)
	}
	return nil
}

func parseMetric(raw json.RawMessage) (Metric, error) {
	switch raw[0] {
	case '{':
		v := struct {
			Score        *float64 `json:"score"`
			IsScoreValid *bool    `json:"is_score_valid"`
			Reason       string   `json:"reason"`
			Weight       *float64 `json:"weight"`
		}{}
		err := strictjson.Unmarshal(raw, &v)
		m := Metric{Reason: v.Reason, IsScoreValid: v.Score != nil, Weight: v.Weight}
		if v.Score != nil {
			m.Score = *v.Score
		}
		if v.IsScoreValid != nil {
			m.IsScoreValid = m.IsScoreValid && *v.IsScoreValid
		}
		return m, err
	case '"':
		var s string
		err := strictjson.Unmarshal(raw, &s)
		return Metric{Reason: s}, err
	case 'n', '[':
		return Metric{Reason: string(raw)}, nil
	case 't':
		return Metric{Score: 1, IsScoreValid: true}, nil
	case 'f':
		return Metric{Score: 0, IsScoreValid: true}, nil
	}
	var f float64
	if err := strictjson.Unmarshal(raw, &f); err != nil {
		return Metric{Reason: string(raw)}, nil
	}
	return Metric{Score: f, IsScoreValid: true}, nil
}
