package gym_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/env"
	"github.com/merit-rl/merit/internal/base/box"
	"github.com/merit-rl/merit/internal/contracts/envcontract"
	"github.com/merit-rl/merit/internal/harbor/boxtest"
	"github.com/merit-rl/merit/internal/harbor/gym"
)

// shell knows a few commands.
func shell(b *boxtest.Box, c box.Command) box.Result {
	line := strings.TrimPrefix(c.Args[len(c.Args)-1], "exec 2>&1; ")
	switch name, rest, _ := strings.Cut(line, " "); name {
	case "echo":
		return box.Result{Output: []byte(rest + "\n"), Fuel: 10}
	case "solve":
		b.Put("/app/out", rest)
	case "fail":
		return box.Result{Status: 3, Output: []byte("no")}
	case "/tests/test.sh":
		b.Put("/logs/verifier/reward.txt", map[string]string{"": "0", "right": "1", "odd": "many"}[b.Text("/app/out")])
	}
	return box.Result{Fuel: 10}
}

func world(t *testing.T, options string, files map[string]string) (*gym.World, *boxtest.Maker) {
	m := &boxtest.Maker{Do: shell}
	o, err := gym.ParseOptions([]byte(options))
	require.NoError(t, err)
	w, err := gym.Load(t.Context(), m, boxtest.Task(t, files), o)
	require.NoError(t, err)
	t.Cleanup(func() { w.Close(); require.Zero(t, m.Open, "boxes that nobody closed") })
	return w, m
}

func bash(command string) string {
	text, _ := json.Marshal([]map[string]any{{"id": "1", "type": "function", "function": map[string]string{"name": "bash", "arguments": string(must(map[string]string{"command": command}))}}})
	return string(text)
}

func must(v any) []byte { text, _ := json.Marshal(v); return text }

// play resets the only slot, takes the actions, and returns the last reply.
func play(t *testing.T, e env.Env, actions ...string) (r env.Reply) {
	b := env.NewBatch(e.Spec())
	b.Ops[0], b.Want = env.Reset, env.WantText
	require.NoError(t, e.Exchange(t.Context(), b, &r))
	for _, a := range actions {
		b.Ops[0], b.Texts[0] = env.Step, a
		require.NoError(t, e.Exchange(t.Context(), b, &r))
	}
	return r
}

// Promise: an episode begins with the instruction, its steps are commands whose output the
// agent sees, and the verifier's reward ends it when the agent says that it is done.
func TestEpisode(t *testing.T) {
	w, _ := world(t, "", nil)
	e, err := w.Open("train", 1)
	require.NoError(t, err)
	defer e.Close()
	require.Equal(t, "Do it.", play(t, e).Text[0])
	r := play(t, e, bash("fail"))
	require.Equal(t, "no\n[exit status 3]", r.Events[0].Message)
	require.Equal(t, "49 turns are left.", r.Text[0])
	for out, want := range map[string]float64{"right": 1, "": 0} {
		r = play(t, e, bash("solve "+out), "Done.")
		require.Equal(t, want, r.Reward[0])
		require.Equal(t, env.Terminated, r.Flags[0])
	}
}

// Promise: a verifier that gives no reward fails the episode, with its reason; it is not worth 0.
func TestNoRewardIsNotZero(t *testing.T) {
	w, _ := world(t, "", nil)
	e, err := w.Open("train", 1)
	require.NoError(t, err)
	defer e.Close()
	r := play(t, e, bash("solve odd"), "Done.")
	require.Equal(t, env.Failed, r.Flags[0])
	require.Contains(t, r.Events[0].Message, `VerifierOutputParseError: /logs/verifier/reward.txt: "many" is not a number`)
}

// Promise: after the last turn, the verifier judges what there is, and the episode is
// truncated; wrong calls are told to the agent; long outputs are cut in the middle.
func TestLimits(t *testing.T) {
	w, _ := world(t, `{"max_steps": 2, "output": 256}`, nil)
	e, err := w.Open("test", 1)
	require.NoError(t, err)
	defer e.Close()
	r := play(t, e, bash("solve right"), bash("echo x"))
	require.Equal(t, env.Truncated, r.Flags[0])
	require.InDelta(t, 1, r.Reward[0], 0)
	r = play(t, e, `[{"function": {"name": "python", "arguments": "{}"}}]`)
	require.Equal(t, env.InvalidAction, r.Flags[0])
	require.Equal(t, "error: call bash with a text called command", r.Events[0].Message)
	r = play(t, e, bash("echo "+strings.Repeat("a", 1000)))
	require.Contains(t, r.Events[0].Message, "[… 745 bytes left out …]")
}

// Promise: the environment keeps the contract of all environments, with snapshots.
func TestContract(t *testing.T) {
	root := t.TempDir()
	for _, name := range []string{"a", "b", "c"} {
		require.NoError(t, os.Rename(boxtest.Task(t, map[string]string{"instruction.md": name}), filepath.Join(root, name)))
	}
	o := gym.DefaultOptions()
	o.MaxSteps = 4
	w, err := gym.Load(t.Context(), &boxtest.Maker{Do: shell}, root, o)
	require.NoError(t, err)
	defer w.Close()
	open := func(context.Context) (env.Env, error) { return w.Open("train", 5) }
	results, err := envcontract.Run(t.Context(), open, envcontract.Options{Texts: []string{bash("echo a"), bash("solve right"), bash("fail"), "Done."}})
	require.NoError(t, err)
	for _, r := range results {
		require.NoError(t, r.Err, r.Promise)
	}
}

// Promise: a folder assigns its splits itself, or its tasks are split by name; few tasks are
// in each split.
func TestSplits(t *testing.T) {
	o := gym.DefaultOptions()
	root := t.TempDir()
	for _, split := range []string{"train", "test"} {
		from := boxtest.Task(t, map[string]string{"instruction.md": split})
		require.NoError(t, os.MkdirAll(filepath.Join(root, split), 0o755))
		require.NoError(t, os.Rename(from, filepath.Join(root, split, split+"-task")))
	}
	w, err := gym.Load(t.Context(), &boxtest.Maker{Do: shell}, root, o)
	require.NoError(t, err)
	defer w.Close()
	for _, split := range []string{"train", "test"} {
		e, err := w.Open(split, 1)
		require.NoError(t, err)
		require.Equal(t, split, play(t, e).Text[0])
		require.NoError(t, e.Close())
	}
	_, err = w.Open("validation", 1)
	require.ErrorContains(t, err, "the split validation has no task")
}

// Promise: options are checked together; a task that needs more than a machine has is refused
// by name, or left out if the options say so.
func TestRefusals(t *testing.T) {
	_, err := gym.ParseOptions([]byte(`{"max_steps": 0, "output": 1}`))
	require.ErrorContains(t, err, "options.max_steps")
	require.ErrorContains(t, err, "options.output")
	_, err = gym.ParseOptions([]byte(`{"turns": 1}`))
	require.ErrorContains(t, err, "options: turns is not a field")
	dir := boxtest.Task(t, map[string]string{"environment/Dockerfile": "FROM rust:1\n"})
	_, err = gym.Load(t.Context(), &boxtest.Maker{}, dir, gym.DefaultOptions())
	require.ErrorContains(t, err, "image rust:1 (environment/Dockerfile:1")
	o := gym.DefaultOptions()
	o.Skip = true
	_, err = gym.Load(t.Context(), &boxtest.Maker{}, dir, o)
	require.ErrorContains(t, err, "no task of this folder runs on a machine")
}
