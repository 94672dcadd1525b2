package interchange

import (
	"fmt"
	"strconv"

	"github.com/merit-rl/merit/core/rl"
)

// stepOf is a step that is being made.
type stepOf struct{ rl.Step }

// newStep returns the step whose action is message m, number at.
func newStep(index, at int, m *rl.Message) stepOf {
	text := m.Content.Text()
	s := stepOf{rl.Step{Index: index, MessageCount: at, RawOutput: text, ActionValid: true, Action: rl.Action{Kind: rl.ActionText, Text: text}}}
	if len(m.ToolCalls) > 0 {
		s.Action = rl.Action{Kind: rl.ActionTool, ToolCalls: m.ToolCalls}
	}
	return s
}

// sample sets the tokens of a step, whose ids and log-probabilities are of the same number
// unless one is empty. before is its agent's sequence so far; sample returns the new one.
func (s *stepOf) sample(prompt, ids []int32, logs []float64, before []int32) []int32 {
	for i, log := range logs {
		s.LogProb += log
		if len(ids) == len(logs) {
			s.Tokens = append(s.Tokens, rl.Token{ID: ids[i], LogProb: log})
		}
	}
	if len(prompt) == 0 || len(s.Tokens) == 0 {
		return before
	}
	s.Prompt = rl.NewPrompt(before, prompt)
	return s.Prompt.Sequence(before, s.Tokens)
}

// number64 returns a finite number.
func number64(raw []byte) (float64, error) {
	v, err := strconv.ParseFloat(string(raw), 64)
	if err != nil {
		return 0, fmt.Errorf("must be a finite number, not %.40s", raw)
	}
	return v, nil
}
