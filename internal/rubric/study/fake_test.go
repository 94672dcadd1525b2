package study_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/rubric"
	"github.com/merit-rl/merit/internal/rubric/study"
)

// words judges by one-word rules: an output with the word gets 1. It understands the ladder's
// edits of such a rule.
type words struct{}

func (words) Evaluate(_ context.Context, r *rubric.Rubric, w *rubric.Workflow) (*rubric.Evaluation, error) {
	e := &rubric.Evaluation{Totals: make([]*float64, len(w.Outputs))}
	for _, c := range r.Criteria {
		result := rubric.Result{Name: c.Name, Weight: c.Weight}
		for i := range w.Outputs {
			v := rubric.Verdict{Outcome: reward.Trap}
			if score, err := say(c.Rule, w.Outputs[i].Text()); err == nil {
				v = rubric.Verdict{Outcome: reward.Scored, Score: &score}
			}
			result.Verdicts = append(result.Verdicts, v)
		}
		e.Criteria = append(e.Criteria, result)
	}
	for i := range w.Outputs {
		total := 0.0
		e.Totals[i] = &total
		for _, c := range e.Criteria {
			if c.Verdicts[i].Score == nil {
				e.Totals[i] = nil
				break
			}
			total += c.Weight * *c.Verdicts[i].Score
		}
	}
	return e, nil
}

func say(r rubric.Rule, text string) (float64, error) {
	word, rest, _ := strings.Cut(r.Code+r.Question, "\n")
	switch {
	case strings.Contains(r.Code, "return 1 / 0"):
		return 0, errors.New("it crashes")
	case strings.Contains(r.Code, "return True"):
		return 1, nil
	}
	score := 0.0
	if strings.Contains(text, word) {
		score = 1
	}
	if strings.Contains(rest, "1 - ") {
		score = 1 - score
	}
	return score, nil
}

// truth is a stakeholder's rubric of one-word rules, the first the heaviest.
func truth(name string, list ...string) *rubric.Rubric {
	r := &rubric.Rubric{Name: name}
	for i, word := range list {
		weight := float64(len(list)-i) * 2 / float64(len(list)*(len(list)+1))
		r.Criteria = append(r.Criteria, rubric.Criterion{Name: word, Weight: weight, Rule: rubric.Rule{Language: rubric.Python, Code: word}})
	}
	return r
}

var dictionary = []string{"alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta3", "theta"}

// episode returns an episode whose outputs each have some of the dictionary's words.
func episode(t *testing.T, r *rubric.Rubric, seed rl.Seed) *rl.Trajectory {
	w := rubric.Workflow{Task: "write words"}
	for i := range 6 {
		var has []string
		for k, word := range dictionary {
			if seed.Path(uint64(i), uint64(k)).Uniform() < 0.5 {
				has = append(has, word)
			}
		}
		w.Outputs = append(w.Outputs, rubric.Output{Worker: fmt.Sprint(i), Resources: []rubric.Resource{{Name: "a", Kind: rubric.Document, Text: strings.Join(has, " ")}}})
	}
	return &rl.Trajectory{
		ID: fmt.Sprintf("%s/%d", r.Name, seed), Task: r.Name, StopReason: rl.StopTerminated, Messages: []rl.Message{},
		GroundTruth: encode(t, map[string]any{rubric.TaskTruth: r}),
		Steps:       []rl.Step{{Info: map[string]json.RawMessage{rubric.InfoWorkflow: encode(t, w)}}},
	}
}

func encode(t *testing.T, v any) json.RawMessage {
	text, err := json.Marshal(v)
	require.NoError(t, err)
	return text
}

// cases are three pieces of work for each of eight stakeholders.
func cases(t *testing.T) (out []*study.Case) {
	for i := range 24 {
		k := i % 8
		r := truth(fmt.Sprint("stakeholder ", k), dictionary[k], dictionary[(k+3)%8], dictionary[(k+5)%8], dictionary[(k+6)%8])
		c, err := study.Read(episode(t, r, rl.Seed(i)))
		require.NoError(t, err)
		out = append(out, c)
	}
	return out
}

// pays is a reward: its score for a rubric, given both evaluations. Without a rubric, the
// written evaluation is nil.
type pays func(written *rubric.Rubric, w, t *rubric.Evaluation) float64

func (pays) Info() reward.Info { return reward.Info{Name: "pays"} }

func (p pays) Evaluate(ctx context.Context, t *rl.Trajectory) reward.Evaluation {
	c, err := study.Read(t)
	if err != nil {
		return reward.Evaluation{Outcome: reward.Infrastructure, Reason: err.Error()}
	}
	var written rubric.Written
	if err := json.Unmarshal(t.Steps[0].Info[rubric.InfoWritten], &written); err != nil {
		return reward.Evaluation{Outcome: reward.Infrastructure, Reason: err.Error()}
	}
	mine := &rubric.Evaluation{Totals: make([]*float64, len(c.Workflow.Outputs))}
	if written.Rubric != nil {
		mine, _ = words{}.Evaluate(ctx, written.Rubric, c.Workflow)
	}
	theirs, _ := words{}.Evaluate(ctx, c.Truth, c.Workflow)
	return reward.Evaluation{Outcome: reward.Scored, Result: rl.EvaluateResult{Score: p(written.Rubric, mine, theirs), IsScoreValid: true}}
}

// alignment is a sound reward: −‖s−g‖², where a missing total is off by 1.
func alignment(_ *rubric.Rubric, w, t *rubric.Evaluation) (sum float64) {
	for i := range t.Totals {
		if w.Totals[i] == nil {
			sum--
			continue
		}
		sum -= math.Pow(*w.Totals[i]-*t.Totals[i], 2)
	}
	return sum
}

func pool(p pays) *reward.Pool { return reward.NewPool([]reward.Weighted{{Scorer: p, Weight: 1}}, 2) }

// away is a reward that never gives a score.
type away struct{}

func (away) Info() reward.Info { return reward.Info{Name: "away"} }

func (away) Evaluate(context.Context, *rl.Trajectory) reward.Evaluation {
	return reward.Evaluation{Outcome: reward.Infrastructure, Reason: "the judge is away"}
}
