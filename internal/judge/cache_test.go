package judge_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/judge"
	"github.com/stretchr/testify/require"
)

// changeable is a model that gives a different answer each time.
func changeable() *script {
	return &script{answer: func(_ context.Context, n int, _ judge.Question) (judge.Answer, error) {
		return judge.Answer{Text: fmt.Sprintf(`{"1":{"score":0.%d},"2":{"score":0}}`, n), Usage: judge.Usage{PromptTokens: 7}}, nil
	}}
}

// Promise: the same question has the same answer for every caller, at any time and
// concurrently, and is paid for once.
func TestTheSameQuestionHasOneAnswer(t *testing.T) {
	m := changeable()
	j := build(t, m, func(_ *judge.Config, o *judge.Options) { o.InFlight = 8 })
	var groups []*rl.Group
	for range 20 {
		groups = append(groups, &rl.Group{Trajectories: replies("a", "b")})
	}
	got, err := reward.NewPool([]reward.Weighted{{Scorer: j, Weight: 1}}, 0).Evaluate(t.Context(), groups, nil)
	require.NoError(t, err)
	require.Len(t, m.asked, 1)
	for i, e := range got {
		require.Equal(t, got[i%2].Result, e.Result)
		require.Equal(t, got[i%2].Notes, e.Notes)
	}
	require.Equal(t, judge.Totals{Questions: 20, Cached: 19, Usage: judge.Usage{PromptTokens: 7}}, j.Totals())
}

// Promise: a folder keeps answers between processes, by everything that determines them; a
// damaged answer is asked for again and replaced.
func TestCacheFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "answers")
	m := changeable()
	judged := func(identity string) float64 {
		j := build(t, m, func(c *judge.Config, o *judge.Options) { c.Cache, o.Identity = dir, identity })
		return scoresOf(t, j.EvaluateGroup(t.Context(), replies("a", "b")))[0]
	}
	first := judged("x")
	require.Equal(t, first, judged("x"))
	require.Len(t, m.asked, 1)
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	require.NoError(t, err)
	require.Len(t, files, 1)
	whole, err := os.ReadFile(files[0])
	require.NoError(t, err)

	for _, damaged := range []string{"", "{", string(whole[:len(whole)/2]), `{"answer":{"text":"{}"},"digest":""}`} {
		require.NoError(t, os.WriteFile(files[0], []byte(damaged), 0o644))
		asked := len(m.asked)
		judged("x")
		judged("x")
		require.Len(t, m.asked, asked+1, "%q", damaged)
	}
	asked := len(m.asked)
	judged("y")
	require.Len(t, m.asked, asked+1, "another model is another question")
}

// Promise: a folder that cannot be written causes a warning and costs no score; an unusable
// answer is not cached.
func TestWhatIsNotKept(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o644))
	j := build(t, changeable(), func(c *judge.Config, _ *judge.Options) { c.Cache = filepath.Join(file, "folder") })
	scoresOf(t, j.EvaluateGroup(t.Context(), replies("a", "b")))

	m := answering("no", "no", `{"1":{"score":1}}`)
	dir := t.TempDir()
	j = build(t, m, func(c *judge.Config, _ *judge.Options) { c.Cache = dir })
	require.Equal(t, reward.ABIViolation, j.Evaluate(t.Context(), replies("a")[0]).Outcome)
	files, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, files)
	require.Equal(t, reward.Scored, j.Evaluate(t.Context(), replies("a")[0]).Outcome)
}

// Promise: canceling a caller that is asking does not cancel others that wait for the same
// answer.
func TestOneWhoIsStoppedTakesNobodyAlong(t *testing.T) {
	first, cancel := context.WithCancel(t.Context())
	asked := make(chan struct{})
	m := &script{answer: func(ctx context.Context, n int, _ judge.Question) (judge.Answer, error) {
		if n == 1 {
			close(asked)
			<-ctx.Done()
			return judge.Answer{}, ctx.Err()
		}
		return judge.Answer{Text: `{"1":{"score":1}}`}, nil
	}}
	j := build(t, m, nil)
	stopped := make(chan reward.Evaluation)
	go func() { stopped <- j.Evaluate(first, replies("a")[0]) }()
	<-asked
	other := make(chan reward.Evaluation)
	go func() { other <- j.Evaluate(t.Context(), replies("a")[0]) }()
	cancel()
	require.Equal(t, reward.Infrastructure, (<-stopped).Outcome)
	require.Equal(t, reward.Scored, (<-other).Outcome)
}
