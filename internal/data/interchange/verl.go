package interchange

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"regexp"

	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/base/strictjson"
	"github.com/merit-rl/merit/internal/data/table"
)

// isVerl recognizes a line of verl's rollout_data_dir and validation_data_dir.
func isVerl(f fields) bool {
	for _, name := range []string{"input", "output", "gts", "score", "step"} {
		if f.values[name] == nil {
			return false
		}
	}
	return f.values["input"][0] == '"' && f.values["output"][0] == '"'
}

// readVerl reads a line of a dump of verl: the prompt and the response as texts that were
// decoded from tokens, the ground truth, the score and the training step. Rows of one step
// with the same prompt are one group.
func readVerl(text []byte, in source) ([]*rl.Trajectory, error) {
	const format = "a line of a rollout dump of verl"
	if err := strictjson.Check(text); err != nil {
		return nil, notOf(format, jsonHint(text, err))
	}
	f := object(text)
	if !isVerl(f) {
		return nil, notOf(format, fmt.Errorf("it needs input, output, gts, score and step"))
	}
	t := texts(f.values["input"], f.values["output"])
	answered(t)
	t.Group = groupOf(f.values["step"], f.values["input"])
	t.ID = cmp.Or(plainText(f.values["uid"]), plainText(f.values["request_id"]), in.name(f.values["step"]))
	if key := rolloutKey.FindStringSubmatch(t.ID); key != nil {
		t.Group = "step-" + plainText(f.values["step"]) + "-" + key[1]
	}
	if some(f.values["gts"]) {
		t.GroundTruth = f.values["gts"]
	}
	keepColumns(t, f, map[string]string{"input": "", "output": "", "gts": "", "score": ""})
	if !some(f.values["score"]) {
		in.notes.Add("row without a score")
	} else if err := reward(t, []byte(plainText(f.values["score"])), in.notes); err != nil { // older versions write text
		return nil, err
	}
	return checked(format, t)
}

// rolloutKey is a key of verl's: the prompt, the number of its rollout, and that of the output.
var rolloutKey = regexp.MustCompile(`^(.+)_[0-9]+_[0-9]+$`)

// name names a row by its training step and its number, because a run writes a file for each step.
func (s source) name(step []byte) string {
	return fmt.Sprintf("step-%s-row-%d", plainText(step), s.number)
}

// answered gives t a step for each answer after the prompt.
func answered(t *rl.Trajectory) {
	for i, at := range t.AssistantIndex(nil) {
		if at >= 0 {
			t.Steps = append(t.Steps, newStep(len(t.Steps), i, &t.Messages[i]).Step)
		}
	}
}

// texts returns a trajectory of a prompt and a completion in JSON strings.
func texts(prompt, completion []byte) *rl.Trajectory {
	return &rl.Trajectory{
		Messages: []rl.Message{
			{Role: rl.RoleUser, Content: rl.Text(textOf(prompt))},
			{Role: rl.RoleAssistant, Content: rl.Text(textOf(completion))},
		},
		PromptMessages: new(1), AsText: rl.PromptAsText | rl.CompletionAsText,
	}
}

// groupOf names the group of the rows of one training step with one prompt.
func groupOf(step, prompt []byte) string {
	sum := sha256.Sum256(prompt)
	return "step-" + plainText(step) + "-" + hex.EncodeToString(sum[:6])
}

// isTRL recognizes a row of the completions that TRL's trainers log: their columns are step,
// prompt, completion, one for each reward function, and advantage.
func isTRL(f fields) bool {
	for _, name := range []string{"step", "prompt", "completion", "advantage"} {
		if f.values[name] == nil {
			return false
		}
	}
	return true
}

// readTRL reads a row of the completions that TRL's trainers log. Each numeric column
// between completion and advantage is the reward of a function; the file does not say their
// weights.
func readTRL(text []byte, in source) ([]*rl.Trajectory, error) {
	const format = "a row of completions of TRL"
	if err := strictjson.Check(text); err != nil {
		return nil, notOf(format, jsonHint(text, err))
	}
	f := object(text)
	var t *rl.Trajectory
	if p, c := f.values["prompt"], f.values["completion"]; isTRL(f) && p[0] == '"' && c[0] == '"' {
		t = texts(p, c)
	} else if t = new(rl.Trajectory); !conversation(t, p, c) {
		return nil, notOf(format, fmt.Errorf("its prompt and completion must be texts or lists of messages"))
	}
	t.ID, t.Group = in.name(f.values["step"]), groupOf(f.values["step"], f.values["prompt"])
	answered(t)
	keepColumns(t, f, rewardColumns(t, f, in.notes))
	return checked(format, t)
}

// rewardColumns scores t by the sum of the columns that are numbers, and returns the columns that were read.
func rewardColumns(t *rl.Trajectory, f fields, notes *Notes) map[string]string {
	read := map[string]string{"prompt": "", "completion": ""}
	result := &rl.EvaluateResult{IsScoreValid: true}
	for _, name := range f.names {
		v, err := number64(f.values[name])
		if _, known := read[name]; known || name == "step" || name == "advantage" {
			continue
		} else if err != nil {
			if string(f.values[name]) == "null" {
				notes.Add("reward function that gave no reward: not in the sum")
			}
			continue
		}
		read[name] = ""
		result.Score += v
		result.Metrics = append(result.Metrics, rl.Metric{Name: name, Score: v, IsScoreValid: true, Weight: new(1.0)})
	}
	switch len(result.Metrics) {
	case 0:
		notes.Add("row without a reward")
		return read
	case 1:
		result.Metrics[0].Weight = nil
	default:
		notes.Add("sum of several rewards with the weight 1: TRL does not write its reward_weights")
	}
	t.Outcome, t.Evaluation = "scored", result
	return read
}

// conversation sets the messages of t to those of a prompt and a completion, and where the
// prompt ends.
func conversation(t *rl.Trajectory, prompt, completion json.RawMessage) bool {
	for i, raw := range []json.RawMessage{prompt, completion} {
		var all []rl.Message
		switch {
		case !some(raw) && i == 0:
		case some(raw) && raw[0] == '"':
			all = []rl.Message{{Role: []string{rl.RoleUser, rl.RoleAssistant}[i], Content: rl.Text(textOf(raw))}}
		case !some(raw) || raw[0] != '[' || strictjson.Unmarshal(raw, &all) != nil:
			return false
		}
		t.Messages = append(t.Messages, all...)
		if i == 0 {
			t.PromptMessages = new(len(t.Messages))
		}
	}
	return true
}

// dumps are the formats of trainers whose rows are also tables.
var dumps = []format{{`"advantage"`, isTRL, readTRL}, {`"gts"`, isVerl, readVerl}}

// Dump returns a function that makes the row of a trajectory of the row of a table whose
// format it recognizes by the columns; nil if it is none of this package.
func Dump(columns []string, notes *Notes) func(row table.Row) ([]byte, error) {
	named := fields{values: map[string][]byte{}}
	for _, name := range columns {
		named.set(name, []byte(`""`))
	}
	for _, f := range dumps {
		if !f.is(named) {
			continue
		}
		return func(row table.Row) ([]byte, error) {
			all, err := f.read(bytes.Clone(row.Text), source{row.Number, nil, notes})
			if err != nil {
				return nil, err
			}
			return rowOf(all[0])
		}
	}
	return nil
}
