package learning_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/env"
	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/run"
	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/sdk/merit"
)

// seeing is a gallery whose policy reads features: which thing there is, one of nine.
type seeing struct {
	*gallery
	encode func(text, answer string, r *env.Reply) (int, error)
}

var things = []string{"sky", "grass", "blood", "sea", "leaf", "rose", "jeans", "frog", "brick"}

func newSeeing(encode func(text, answer string, r *env.Reply) (int, error)) merit.OpenEnv {
	return func(context.Context, string, int) (env.Env, error) {
		return &seeing{&gallery{make([]int, 4), []int{len(things)}}, encode}, nil
	}
}

func (s *seeing) Spec() env.Spec {
	spec := s.gallery.Spec()
	spec.Encodes = s.encode != nil
	return spec
}

func (s *seeing) Exchange(ctx context.Context, b *env.Batch, r *env.Reply) error {
	err := s.gallery.Exchange(ctx, b, r)
	r.Features = make([]float32, len(s.shown)*len(things))
	for i, n := range s.shown {
		r.Features[i*len(things)+n%3] = 1
		r.Anchor[i] = things[n%3]
	}
	return err
}

func (s *seeing) Encode(_ context.Context, messages []string, answer string, r *env.Reply) (int, error) {
	return s.encode(messages[len(messages)-1], answer, r)
}

// look reads "thing 5 looks like grass".
func look(text, _ string, r *env.Reply) (int, error) {
	for i, name := range things {
		if strings.HasSuffix(text, " "+name) {
			r.Anchor, r.Features, r.Mask = []string{name}, make([]float32, len(things)), []byte{1, 1, 1}
			r.Features[i] = 1
			return -1, nil
		}
	}
	return 0, &fault.Error{Boundary: fault.Data, Kind: fault.Refused, What: "no thing"}
}

func encoded(t *testing.T, overrides ...string) *merit.Config {
	cfg, err := merit.ParseConfig("test.yaml", []byte(`
traces: {query: all}
rollout: {groups: 60, members: 4, parallel: 1}
policy: {hidden: []}
ppo: {advantage_scale: rms, learning_rate: 0.05}
train: {iterations: 25, evaluate_every: 5, validation_episodes: 60, test_episodes: 90}
`), ".", overrides...)
	require.NoError(t, err)
	return cfg
}

// Promise: where an environment encodes the text of traces, a network that reads features
// learns from them, by either method, and plays in the environment from its first step.
func TestTracesTeachANetworkThatReadsFeatures(t *testing.T) {
	testneeds.NotShort(t)
	for _, method := range []string{"clone", "importance"} {
		dir := filepath.Join(t.TempDir(), method)
		summary, err := learn(t, recordings(t, 60, 4, true), encoded(t, "traces.method="+method, "traces.temperature=0.3"), merit.TrainOptions{Dir: dir}, merit.WithEnvironment(newSeeing(look)))
		require.NoError(t, err, method)
		require.Less(t, summary.Baseline.Success, 0.6, method)
		require.Greater(t, summary.Trained.Success, 0.7, method)
		m, err := run.ReadManifest(dir)
		require.NoError(t, err)
		require.Equal(t, 240, m.Traces.Learnt)
		require.True(t, m.Traces.Played)
		require.Equal(t, "untrained", m.Before())
		cfg, err := merit.LoadRun(dir)
		require.NoError(t, err)
		s, err := merit.Open(t.Context(), cfg, merit.WithEnvironment(newSeeing(look)))
		require.NoError(t, err, "a run of traces plays in its environment, with its reward")
		require.NoError(t, s.Close())
	}
}

// Promise: calls that the environment refuses, that its encoder fails at, or whose action
// it did not offer are left out and counted by reason; the others teach.
func TestCallsOfAnotherKindAreCounted(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	picky := func(text, answer string, r *env.Reply) (int, error) {
		switch at, err := look(text, answer, r); {
		case strings.HasSuffix(text, "sea"):
			return 0, &fault.Error{Boundary: fault.Data, Kind: fault.Refused, What: "no \x1b[31msea"}
		case strings.HasSuffix(text, "leaf"):
			return 0, errors.New("the leaf fell")
		case strings.HasSuffix(text, "rose"):
			r.Mask = []byte{1, 1, 0}
			return 2, err
		case strings.HasSuffix(text, "jeans"):
			return 0, fmt.Errorf("%s", text) // a reason that no two calls share
		default:
			return at, err
		}
	}
	_, err := learn(t, recordings(t, 60, 4, true), encoded(t, "traces.method=clone", "train.iterations=1"), merit.TrainOptions{Dir: dir}, merit.WithEnvironment(newSeeing(picky)))
	require.NoError(t, err)
	m, err := run.ReadManifest(dir)
	require.NoError(t, err)
	left := m.Traces.Skipped
	require.Equal(t, 28, left[`not encoded: no \x1b[31msea`])
	require.Equal(t, 28, left["not encoded: an error: the leaf fell"])
	require.Equal(t, 28, left["an illegal action"])
	require.Contains(t, m.Traces.String(), "28 × an illegal action")
	total := 0
	for _, n := range left {
		total += n
	}
	require.Equal(t, m.Traces.Calls-m.Traces.Learnt, total)
	require.LessOrEqual(t, len(left), 17, "the reasons are bounded")
}

// Promise: an environment that cannot encode, that refuses every call, or that returns
// something else than an observation, is an error that says so, and never an empty observation.
func TestEncodersThatCannot(t *testing.T) {
	s := recordings(t, 60, 4, true)
	change := func(f func(r *env.Reply) int) func(string, string, *env.Reply) (int, error) {
		return func(text, answer string, r *env.Reply) (int, error) {
			_, err := look(text, answer, r)
			return f(r), err
		}
	}
	for want, encode := range map[string]func(string, string, *env.Reply) (int, error){
		"it returns features, and gallery cannot encode recorded text into them":                                       nil,
		"the policy cannot learn from any of the 240 answered calls: not encoded: no reason given (240)":               func(string, string, *env.Reply) (int, error) { return 0, fault.Of(fault.Data, fault.Refused) },
		"trace trace-0-0, call 1: gallery: the encoded observation has 2 features, not 9":                              change(func(r *env.Reply) int { r.Features = r.Features[:2]; return 0 }),
		"trace trace-0-0, call 1: gallery: the encoded observation has feature 0 that is NaN":                          change(func(r *env.Reply) int { r.Features[0] = float32(math.NaN()); return 0 }),
		"trace trace-0-0, call 1: gallery: the encoded observation has action 3 of 3":                                  change(func(r *env.Reply) int { return 3 }),
		"trace trace-0-0, call 1: gallery: the encoded observation has no anchor":                                      change(func(r *env.Reply) int { r.Anchor[0] = ""; return 0 }),
		"trace trace-0-0, call 1: gallery: the encoded observation has a mask of 1 actions, not 3":                     change(func(r *env.Reply) int { r.Mask = r.Mask[:1]; return 0 }),
		"its actions are [\"blue\" \"green\" \"red\"], but the choices of the traces are [\"red\" \"green\" \"blue\"]": look,
	} {
		overrides := []string{"traces.method=clone"}
		if strings.Contains(want, "choices") {
			overrides = append(overrides, "traces.choices=[red, green, blue]")
		}
		_, err := learn(t, s, encoded(t, overrides...), merit.TrainOptions{Dir: filepath.Join(t.TempDir(), "run")}, merit.WithEnvironment(newSeeing(encode)))
		require.ErrorContains(t, err, want)
		if encode == nil { // validate says the same
			_, tried := merit.Try(t.Context(), encoded(t, overrides...), nil, merit.WithEnvironment(newSeeing(encode)))
			require.EqualError(t, tried, err.Error())
		}
	}
}
