package rubricstudy_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/env"
	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/rubric"
	"github.com/merit-rl/merit/sdk/merit"
	_ "github.com/merit-rl/merit/sdk/merit/standard"
)

var dictionary = []string{"alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta3", "theta"}

// oneStep is an environment of one step: the agent writes a word that counts, or nothing, and
// six workers have written words.
type oneStep struct {
	truth    []int
	workflow []rubric.Workflow
}

func (d *oneStep) Spec() env.Spec {
	return env.Spec{Name: "oneStep", Version: "1", Slots: 2, Actions: append([]string{"nothing"}, dictionary...), FeatureShape: []int{1}, MaxSteps: 1}
}

func (d *oneStep) Exchange(_ context.Context, b *env.Batch, r *env.Reply) error {
	r.Anchor, r.Text, r.Features = make([]string, 2), []string{"write", "write"}, make([]float32, 2)
	r.Reward, r.Flags, r.Events, r.Mask = make([]float64, 2), make([]env.Flag, 2), nil, []byte(strings.Repeat("\x01", 18))
	for i, op := range b.Ops {
		switch op {
		case env.Reset:
			seed := rl.Seed(b.Seeds[i])
			d.truth[i], d.workflow[i] = int(seed.Uniform()*6), work(seed)
			task := map[string]any{"brief": "Use " + dictionary[d.truth[i]] + ".", rubric.TaskTruth: stakeholder(d.truth[i])}
			r.Events = append(r.Events, env.Event{Slot: i, Kind: env.EventTask, Message: string(text(rl.Task{ID: fmt.Sprint("t", d.truth[i]), GroundTruth: text(task)}))})
		case env.Step:
			w := rubric.Written{Problem: "nothing", Attempts: 1, Questions: []string{}}
			if a := b.Actions[i]; a > 0 {
				w = rubric.Written{Rubric: words("mine", dictionary[a-1]), Attempts: 1, Questions: []string{}}
			}
			r.Flags[i] = env.Terminated
			r.Events = append(r.Events,
				env.Event{Slot: i, Kind: env.EventInfo, Name: rubric.InfoWritten, Message: string(text(w))},
				env.Event{Slot: i, Kind: env.EventInfo, Name: rubric.InfoWorkflow, Message: string(text(d.workflow[i]))})
		}
	}
	return nil
}

func (d *oneStep) Close() error { return nil }

func work(seed rl.Seed) rubric.Workflow {
	w := rubric.Workflow{Task: "write words"}
	for i := range 6 {
		var has []string
		for k, word := range dictionary {
			if seed.Path(9, uint64(i), uint64(k)).Uniform() < 0.5 {
				has = append(has, word)
			}
		}
		w.Outputs = append(w.Outputs, rubric.Output{Resources: []rubric.Resource{{Name: "a", Kind: rubric.Document, Text: strings.Join(has, " ")}}})
	}
	return w
}

func stakeholder(k int) *rubric.Rubric {
	return words(fmt.Sprint("stakeholder ", k), dictionary[k], dictionary[(k+3)%8], dictionary[(k+5)%8], dictionary[(k+6)%8])
}

// words is a rubric of one-word rules, the first the heaviest.
func words(name string, list ...string) *rubric.Rubric {
	r := &rubric.Rubric{Name: name}
	for i, word := range list {
		weight := float64(len(list)-i) * 2 / float64(len(list)*(len(list)+1))
		r.Criteria = append(r.Criteria, rubric.Criterion{Name: word, Weight: weight, Rule: rubric.Rule{Language: rubric.Python, Code: word}})
	}
	return r
}

func text(v any) json.RawMessage {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return data
}

// reader applies rules of one word and their edited versions in a ladder.
type reader struct{}

func (reader) Digest() string { return "reader" }

func (reader) Check(_ context.Context, r rubric.Rule, w *rubric.Workflow, i int) rubric.Verdict {
	word, rest, _ := strings.Cut(r.Code+r.Question, "\n")
	score := 0.0
	switch {
	case strings.Contains(r.Code, "1 / 0"):
		return rubric.Verdict{Outcome: reward.GuestError, Reason: "division by zero"}
	case strings.Contains(r.Code, "True"), strings.Contains(w.Outputs[i].Text(), word):
		score = 1
	}
	if strings.Contains(rest, "1 - ") {
		score = 1 - score
	}
	return rubric.Verdict{Outcome: reward.Scored, Score: &score}
}

// pays is a reward that sees both evaluations.
type pays func(d *rubric.Dual) float64

func (pays) Info() reward.Info { return reward.Info{Name: "pays", Digest: "sha256:00"} }

func (p pays) Evaluate(_ context.Context, t *rl.Trajectory) reward.Evaluation {
	var d rubric.Dual
	if err := json.Unmarshal(t.GroundTruth, &d); err != nil {
		return reward.Evaluation{Outcome: reward.GuestError, Reason: err.Error()}
	}
	score := p(&d)
	return reward.Evaluation{Outcome: reward.Scored, Result: rl.EvaluateResult{
		Score: score, IsScoreValid: true, Metrics: rl.Metrics{{Name: "alignment", Score: score, IsScoreValid: true}},
	}}
}

func alignment(d *rubric.Dual) (sum float64) {
	for i, goal := range d.Truth.Evaluation.Totals {
		if d.Written.Evaluation == nil || d.Written.Evaluation.Totals[i] == nil {
			sum--
			continue
		}
		by := *d.Written.Evaluation.Totals[i] - *goal
		sum -= by * by
	}
	return sum
}

// session returns a session whose rubric reward scores by p.
func session(t *testing.T, p pays) *merit.Session {
	t.Helper()
	cfg, _ := merit.ParseConfig("train.yaml", []byte("seed: 5\nrollout: {groups: 4, members: 2, parallel: 2}\ntrain: {iterations: 1, validation_episodes: 4, test_episodes: 4}\n"), ".")
	require.NotNil(t, cfg)
	open := func(context.Context, string, int) (env.Env, error) {
		return &oneStep{make([]int, 2), make([]rubric.Workflow, 2)}, nil
	}
	dual := rubric.NewScorer(rubric.NewEngine(reader{}, rubric.EngineOptions{}), p, rubric.ScorerOptions{})
	s, err := merit.Open(t.Context(), cfg, merit.WithEnvironment(open), merit.WithScorer(dual, 1))
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// file writes text into a file of a folder of the test.
func file(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	return path
}
