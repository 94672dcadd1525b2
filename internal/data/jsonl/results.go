package jsonl

import (
	"encoding/json"
	"slices"

	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/base/jsonspan"
	"github.com/merit-rl/merit/internal/base/strictjson"
)

// resultColumns lists the required columns of a table of evaluation results. In Parquet
// the metrics are lists, because their names depend on the data.
var resultColumns = []string{nameID, "outcome", nameScore, nameSteps, nameMetrics, "reason", "fuel"}

const (
	nameScore   = "score"
	nameSteps   = "step_outputs"
	nameMetrics = "metrics"
	nameNotes   = "reward_notes"
)

// isResults reports whether a table with these columns contains results.
func isResults(columns []string) bool {
	return !slices.ContainsFunc(resultColumns, func(name string) bool { return !slices.Contains(columns, name) })
}

// metrics has the metrics of a result in the form of a table.
type metrics []struct {
	Name   string   `json:"name"`
	Score  *float64 `json:"score"`
	Valid  bool     `json:"is_score_valid"`
	Reason string   `json:"reason"`
}

// named returns false if a metric has no score: Merit did not write it, and it is not 0.
func (m metrics) named() (all rl.Metrics, ok bool) {
	for _, x := range m {
		if x.Score == nil {
			return nil, false
		}
		all = append(all, rl.Metric{Name: x.Name, Score: *x.Score, IsScoreValid: x.Valid, Reason: x.Reason})
	}
	return all, true
}

// result converts a row of a table of results to the form of a line. It leaves values in
// another form unchanged.
func result(line []byte) []byte {
	if !isObject(line) {
		return line
	}
	out := jsonspan.NewObject(len(line))
	for _, m := range jsonspan.Members(nil, line) {
		name, value := string(jsonspan.Text(line[m.KeyStart:m.KeyEnd])), line[m.ValueStart:m.End]
		switch {
		case name == nameNotes && none(value):
			continue
		case name == nameMetrics:
			value = metricsOf(value)
		case name == nameSteps:
			value = stepsOf(value)
		case name == nameScore && !none(value):
			value = again[float64](value)
		}
		out.Add(name, value)
	}
	return out.End()
}

func metricsOf(value []byte) []byte {
	var listed metrics
	if strictjson.Unmarshal(value, &listed) != nil {
		return value
	}
	all, ok := listed.named()
	if !ok {
		return value
	}
	return written(all, value)
}

func stepsOf(value []byte) []byte {
	var listed []struct {
		Index   rl.StepIndex `json:"step_index"`
		Reward  float64      `json:"base_reward"`
		Metrics metrics      `json:"metrics"`
		Reason  string       `json:"reason"`
	}
	if strictjson.Unmarshal(value, &listed) != nil {
		return value
	}
	steps := []rl.StepOutput{}
	for _, s := range listed {
		all, ok := s.Metrics.named()
		if !ok {
			return value
		}
		steps = append(steps, rl.StepOutput{StepIndex: s.Index, BaseReward: s.Reward, Metrics: all, Reason: s.Reason})
	}
	return written(steps, value)
}

// again encodes a value as encoding/json does.
func again[T any](value []byte) []byte {
	var x T
	if strictjson.Unmarshal(value, &x) != nil {
		return value
	}
	return written(x, value)
}

func written(x any, otherwise []byte) []byte {
	text, err := json.Marshal(x)
	if err != nil {
		return otherwise
	}
	return text
}
