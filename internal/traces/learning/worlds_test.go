package learning_test

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/env"
	"github.com/merit-rl/merit/core/policy"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/core/run"
	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/internal/traces/trace"
	"github.com/merit-rl/merit/sdk/merit"
)

// gallery is an environment of one step: what color does a thing have?
type gallery struct {
	shown []int
	shape []int
}

func newGallery(shape []int) merit.OpenEnv {
	return func(context.Context, string, int) (env.Env, error) { return &gallery{make([]int, 4), shape}, nil }
}

func (g *gallery) Spec() env.Spec {
	return env.Spec{Name: "gallery", Version: "1", Slots: len(g.shown), Actions: colors, FeatureShape: g.shape, MaxSteps: 1}
}

func (g *gallery) Exchange(_ context.Context, b *env.Batch, r *env.Reply) error {
	n := len(g.shown)
	r.Anchor, r.Text = make([]string, n), make([]string, n)
	r.Reward, r.Flags, r.Events, r.Mask = make([]float64, n), make([]env.Flag, n), nil, bytes.Repeat([]byte{1}, n*len(colors))
	things := []string{"sky", "grass", "blood"}
	for i, op := range b.Ops {
		switch op {
		case env.Reset:
			g.shown[i] = int(rl.Seed(b.Seeds[i]).Uniform() * 3000)
		case env.Step:
			r.Flags[i] = env.Terminated
			if int(b.Actions[i]) == g.shown[i]%3 {
				r.Reward[i] = 1
			}
		}
		r.Text[i] = fmt.Sprintf("thing %d looks like %s", 5000+g.shown[i], things[g.shown[i]%3])
		r.Anchor[i] = r.Text[i]
	}
	return nil
}

func (g *gallery) Close() error { return nil }

// Promise: where there is an environment, what was learnt from traces is measured
// by playing it; one that does not fit the traces is refused.
func TestTracesTeachAndAnEnvironmentMeasures(t *testing.T) {
	testneeds.NotShort(t)
	s := recordings(t, 60, 4, true)
	dir := filepath.Join(t.TempDir(), "run")
	played := []string{"traces.choices=[blue, green, red]", "train.validation_episodes=60", "train.test_episodes=90", "rollout.parallel=1"}
	summary, err := learn(t, s, config(t, played...), merit.TrainOptions{Dir: dir}, merit.WithEnvironment(newGallery(nil)))
	require.NoError(t, err)
	require.Equal(t, 90, summary.Trained.Episodes)
	require.Less(t, summary.Baseline.Success, 0.6)
	require.Greater(t, summary.Trained.Success, 0.8)
	_, err = learn(t, s, config(t, played...), merit.TrainOptions{Dir: dir, Overwrite: true}, merit.WithEnvironment(newGallery([]int{4})))
	require.ErrorContains(t, err, "cannot encode recorded text into them")
	_, err = learn(t, s, config(t, "traces.choices=[red, green, blue]"), merit.TrainOptions{Dir: dir, Overwrite: true}, merit.WithEnvironment(newGallery(nil)))
	require.ErrorContains(t, err, "its actions are")
}

// tokens is a learner of a language model that keeps what it is given.
type tokens struct{ sequences []policy.Sequence }

func (*tokens) Act(context.Context, []policy.Observation, []policy.Decision) error { return nil }
func (*tokens) Version() uint64                                                    { return 0 }
func (*tokens) Spec() policy.Spec                                                  { return policy.Spec{Name: "tokens", Learns: true} }
func (*tokens) Publish(context.Context) error                                      { return nil }
func (*tokens) Save(context.Context, string) ([]byte, error)                       { return []byte("{}"), nil }
func (*tokens) Load(context.Context, []byte) error                                 { return nil }
func (*tokens) Close() error                                                       { return nil }

func (l *tokens) Learn(_ context.Context, e *policy.Experience, _ rl.Seed) (policy.Stats, error) {
	s, err := e.Sequences()
	l.sequences = append(l.sequences, s...)
	return policy.Stats{Sequences: len(s)}, err
}

// Promise: a language model learns the recorded tokens, with the advantages of
// their traces; its run ends with what was collected and no made-up estimate.
func TestALanguageModelLearnsTokens(t *testing.T) {
	s := recordings(t, 60, 4, true)
	var spans []trace.Span
	require.NoError(t, s.Each(t.Context(), trace.Query{}, func(x *trace.Trace) error {
		for _, span := range x.All {
			if span.Prompt != nil {
				id := int32(100 + len(span.Prompt.Answer.Content.Text()))
				span.Prompt.PromptTokens, span.Prompt.Tokens[0].ID = []int32{1, 2, 3}, &id
				spans = append(spans, span)
			}
		}
		return nil
	}))
	require.NoError(t, s.Put(t.Context(), spans, nil))
	l, dir := &tokens{}, filepath.Join(t.TempDir(), "run")
	cfg, err := merit.ParseConfig("test.yaml", []byte("traces: {query: all}\npolicy: {plugin: tinker}\nrollout: {groups: 60, members: 4}\ntrain: {iterations: 2, evaluate_every: 1}\n"), ".")
	require.NoError(t, err)
	summary, err := learn(t, s, cfg, merit.TrainOptions{Dir: dir}, merit.WithPolicy(func(context.Context, env.Spec, int) (policy.Learner, error) { return l, nil }))
	require.NoError(t, err)
	require.NotEmpty(t, l.sequences)
	for _, q := range l.sequences {
		require.Equal(t, []int32{1, 2, 3}, q.Tokens[:3])
		require.Equal(t, []byte{0, 0, 0, 1}, q.Sampled)
		require.InDelta(t, -1.0986, q.LogProb[3], 1e-4)
		require.NotZero(t, q.Weight[3])
	}
	require.Positive(t, summary.Baseline.Episodes)
	require.Zero(t, summary.Trained.Episodes)
	require.Equal(t, 1.0, summary.PValue)
	require.Equal(t, 2, summary.Best)
	all, err := run.ReadMetrics(dir)
	require.NoError(t, err)
	require.Nil(t, all[2].Validation)
}
