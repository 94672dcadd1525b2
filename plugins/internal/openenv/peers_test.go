package openenv

import (
	"bufio"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/env"
	"github.com/merit-rl/merit/core/policy"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/internal/contracts/envtest"
	"github.com/merit-rl/merit/internal/openenv/envserver"
	"github.com/merit-rl/merit/sdk/merit"
)

// peer starts an environment on the server of the PyPI package and returns its
// address.
func peer(t *testing.T) string {
	t.Helper()
	cmd := exec.Command(testneeds.OpenEnvPython(t), filepath.Join("testdata", "peer.py"))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	port, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err, "the server of the package did not start")
	url := "http://127.0.0.1:" + strings.TrimSpace(port)
	return url
}

const guessing = `"action": {"field": "message"}, "observation": {"text": "observation.text", "features": "observation.numbers", "shape": [1]}`

// guesses are choices over the same server.
func guesses() string {
	var all []string
	for i := range 8 {
		all = append(all, `{"name": "n`+strconv.Itoa(i)+`", "action": {"message": "`+strconv.Itoa(i)+`"}}`)
	}
	return `"action": {"as": "choices", "choices": [` + strings.Join(all, ",") + `]}, "observation": {"text": "observation.text", "legal": "observation.legal_actions"}`
}

// Promise: an environment on the published package's own server keeps the
// contract behind the plug-in, and a rollout plays it and gives its rewards.
func TestPublishedServer(t *testing.T) {
	url := peer(t)
	t.Run("texts", func(t *testing.T) {
		envtest.Run(t, func(t testing.TB) env.Env { return play(t, 4, patient(url, guessing)) }, "1", "5", "3")
	})
	t.Run("choices", func(t *testing.T) {
		envtest.Run(t, func(t testing.TB) env.Env { return play(t, 4, patient(url, guesses())) })
	})
	t.Run("rollout", func(t *testing.T) { searchIn(t, url) })
}

// searchIn rolls out a policy that halves the numbers that are left: it is right
// within four guesses, whatever the seed.
func searchIn(t *testing.T, url string) {
	cfg, err := merit.PlayConfig("rollout.groups=3", "rollout.members=4", "rollout.parallel=2", "rewards=[{environment: true}]")
	require.NoError(t, err)
	s, err := merit.Open(t.Context(), cfg, merit.WithEnvironment(func(context.Context, string, int) (env.Env, error) { return play(t, 8, patient(url, guessing)), nil }))
	require.NoError(t, err)
	defer s.Close()
	var secrets []string
	played, err := s.Rollout(t.Context(), merit.RolloutOptions{Policy: halving{}}, func(tr *rl.Trajectory) error {
		last := tr.Steps[len(tr.Steps)-1]
		require.Equal(t, rl.StopTerminated, tr.StopReason)
		require.Equal(t, 1.0, last.EnvReward)
		require.Equal(t, 1.0, tr.Evaluation.Score)
		require.LessOrEqual(t, len(tr.Steps), 4)
		secrets = append(secrets, last.Action.Text)
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, 12, played.Episodes)
	for g := range 3 {
		require.Equal(t, []string{secrets[4*g], secrets[4*g], secrets[4*g], secrets[4*g]}, secrets[4*g:4*g+4], "members of a group have one start")
	}
}

// halving guesses the middle of what the conversation leaves.
type halving struct{}

func (halving) Version() uint64 { return 1 }

func (halving) Act(_ context.Context, observations []policy.Observation, decisions []policy.Decision) error {
	for i, o := range observations {
		low, high, guess := 0, 7, 0
		for _, m := range o.Messages {
			text := m.Content.Text()
			switch {
			case m.Role == rl.RoleAssistant:
				guess, _ = strconv.Atoi(text)
			case text == "Higher.":
				low = guess + 1
			case text == "Lower.":
				high = guess - 1
			}
		}
		text := strconv.Itoa((low + high) / 2)
		decisions[i] = policy.Decision{Action: rl.Action{Kind: rl.ActionText, Text: text}}
	}
	return nil
}

// Promise: the published package's clients, generic and typed, sync and async,
// play environments that are served here: a plug-in process, and texts.
func TestPublishedClient(t *testing.T) {
	python := testneeds.OpenEnvPython(t)
	binary := filepath.Join(t.TempDir(), "sokoban")
	out, err := exec.Command("go", "build", "-o", binary, "../../sokoban").CombinedOutput()
	require.NoError(t, err, string(out))
	cfg, err := merit.PlayConfig("environment.plugin="+binary, "environment.slots=1", "environment.options={max_steps: 12}")
	require.NoError(t, err)
	c := envserver.DefaultConfig()
	c.Listen, c.KeyEnv = "127.0.0.1:0", "KEY"
	key := func(name string) string { return map[string]string{"KEY": "a-key-that-nobody-guesses"}[name] }
	s, err := envserver.Open(t.Context(), cfg, c, envserver.Options{Getenv: key})
	require.NoError(t, err)
	defer s.Close()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	go func() { _ = s.Serve(ctx) }()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, python, filepath.Join("testdata", "play.py"), s.URL(), serve(t, line{text: true}, 8, 2, nil))
	cmd.Env, cmd.Stderr = append(os.Environ(), "KEY="+key("KEY")), os.Stderr
	text, err := cmd.Output()
	require.NoError(t, err)
	var saw struct {
		Sokoban struct {
			Stranger, Early, Wrong, Unknown, Full, Late string
			First                                       map[string]any
			ResetReward                                 *float64 `json:"reset_reward"`
			Steps                                       int
			Last, State                                 map[string]any
			Again                                       bool
		}
		Text struct{ Totals []float64 }
	}
	require.NoError(t, json.Unmarshal(text, &saw), string(text))
	k := saw.Sokoban
	require.Contains(t, k.Stranger, "HTTP 401")
	require.Contains(t, k.Early, "no episode is active; reset the session first (code: EXECUTION_ERROR)")
	require.Contains(t, k.Wrong, `"fly" is not an action: answer with one of up, down, left, right. (code: VALIDATION_ERROR)`)
	require.Contains(t, k.Unknown, `"act" is not a field of an action`)
	require.Contains(t, k.Full, "Server at capacity: 1/1 sessions active. Cannot accept new connections. (code: CAPACITY_REACHED)")
	require.Contains(t, k.Late, "the episode is over")
	require.Contains(t, k.First["text"], "######")
	require.Equal(t, []any{"up", "down", "left", "right"}, k.First["legal_actions"])
	require.Contains(t, k.First["system"], "You play Sokoban")
	require.Len(t, k.First["features"], 147)
	require.Nil(t, k.ResetReward)
	require.Equal(t, 12, k.Steps)
	require.Equal(t, true, k.Last["truncated"])
	require.Equal(t, "mine", k.State["episode_id"])
	require.EqualValues(t, 12, k.State["step_count"])
	require.True(t, k.Again)
	require.Len(t, saw.Text.Totals, 16)
	for _, total := range saw.Text.Totals {
		require.Equal(t, 1.0, total)
	}
}
