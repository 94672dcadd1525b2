// Package rubric_test plays the example with a real small model.
package rubric_test

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/internal/engine"
	"github.com/merit-rl/merit/internal/engine/enginetest"
	"github.com/merit-rl/merit/internal/rubric"
	"github.com/merit-rl/merit/sandbox/interpreter"
	"github.com/merit-rl/merit/sdk/merit"
	_ "github.com/merit-rl/merit/sdk/merit/standard"
)

// Promise: json.yaml plays with a real small model from its first question to the
// score: every episode is scored, and what could not be read has a reason and the
// worst score, never 0.
func TestModelWritesRubrics(t *testing.T) {
	testneeds.Slow(t, "asks a local model")
	i := interpreter.Python()
	testneeds.File(t, "get it with: merit python install", i.Path(interpreter.Folder()))
	server := enginetest.Start(t, engine.Llama(), engine.SmolLM2, func(o *engine.Options) { o.Slots, o.Context = 2, 4096 })
	plugins := t.TempDir()
	build := exec.Command("go", "build", "-o", plugins, "./plugins/rubric", "./plugins/openai")
	build.Dir = testneeds.Root()
	text, err := build.CombinedOutput()
	require.NoError(t, err, string(text))

	cfg, err := merit.LoadConfig("json.yaml", "rollout.groups=2", "environment.options.attempts=1", "policy.options.url="+server.URL+"/v1")
	require.NoError(t, err)
	cfg.Environment.Plugin, cfg.Policy.Plugin = filepath.Join(plugins, "rubric"), filepath.Join(plugins, "openai")
	s, err := merit.Open(t.Context(), cfg)
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	n := 0
	_, err = s.Rollout(t.Context(), merit.RolloutOptions{Split: "test"}, func(x *rl.Trajectory) error {
		n++
		require.Equal(t, string(reward.Scored), x.Outcome, x.ID)
		e, err := rubric.ReadEpisode(x)
		require.NoError(t, err)
		parsed, _ := x.Evaluation.Metrics.Get("parsed")
		require.Equal(t, e.Written.Rubric != nil, parsed.Score == 1)
		if e.Written.Rubric == nil {
			require.NotEmpty(t, e.Written.Problem)
			require.Less(t, x.Evaluation.Score, -6.0)
		}
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, 2, n)
}
