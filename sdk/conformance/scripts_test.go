package conformance_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/sandbox"
	"github.com/merit-rl/merit/sandbox/interpreter"
	"github.com/merit-rl/merit/sdk/conformance"
	"github.com/stretchr/testify/require"
)

// scripted are the languages whose rewards run from source.
func scripted(t testing.TB) []string {
	for _, i := range interpreter.All() {
		testneeds.File(t, "run: merit "+i.Name+" install", i.Path(interpreter.Folder()))
	}
	return []string{"py", "js"}
}

// script loads a guest from its source.
func script(t testing.TB, r *sandbox.Runtime, ext, program string) *sandbox.Module {
	language := map[string]string{"py": "python", "js": "js"}[ext]
	path, _ := source(language, program, "."+ext)
	path = filepath.Join(testneeds.Root(), path)
	if strings.HasSuffix(program, "_group") { // it imports its neighbour
		folder := t.TempDir()
		copyFile(t, path, filepath.Join(folder, "conformance."+ext))
		copyFile(t, strings.TrimSuffix(path, "."+ext)+"_group."+ext, filepath.Join(folder, "reward."+ext))
		path = folder
	}
	m, err := r.LoadFile(context.Background(), path)
	require.NoError(t, err)
	return m
}

func copyFile(t testing.TB, from, to string) {
	data, err := os.ReadFile(from)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(to, data, 0o600))
}

// Promise: rewards in Python and JavaScript see every field, of one rollout and
// of groups.
func TestScriptsConform(t *testing.T) {
	testneeds.Slow(t, "starts interpreters many times")
	// Digests of 1 MB, byte by byte, beside whatever else is tested.
	r := newRuntime(t, func(c *sandbox.Config) { c.Fuel, c.WallClock = 20*c.Fuel, 5*time.Minute })
	for _, ext := range scripted(t) {
		for _, program := range programs[3:] {
			m := script(t, r, ext, program)
			require.Equal(t, strings.HasSuffix(program, "_group"), m.Info().Group)
			for _, f := range conformance.Run(context.Background(), m) {
				t.Error(ext, program, f)
			}
		}
	}
}

// Promise: scripts bring their own warm-ups, in every isolation.
func TestScriptsWarmUpOnTheirOwn(t *testing.T) {
	testneeds.Slow(t, "starts interpreters many times")
	for _, isolation := range []sandbox.Isolation{sandbox.Snapshot, sandbox.Fresh, sandbox.Process} {
		r := newRuntime(t, func(c *sandbox.Config) {
			c.Isolation, c.CacheDir = isolation, filepath.Join(filepath.Dir(interpreter.Folder()), "test")
		})
		for _, ext := range scripted(t) {
			startsAfterItsOwnWarmUp(t, script(t, r, ext, "warm_up"))
		}
	}
}

// Promise: the examples in Python and JavaScript say what those in Go say.
func TestScriptExamplesAgree(t *testing.T) {
	testneeds.Slow(t, "starts interpreters many times")
	r := newRuntime(t)
	for _, ext := range scripted(t) {
		for _, program := range programs[:3] {
			exampleAgrees(t, script(t, r, ext, program), program)
		}
	}
}

// Promise: Python and JavaScript score the 1,320 real answers as the data
// set's own grader does.
func TestScriptsOnRealAnswers(t *testing.T) {
	testneeds.Slow(t, "starts interpreters many times")
	answers := lines(t, testneeds.Shared(t, "data", "gsm8k_model_solutions.jsonl"))
	require.Len(t, answers, 1320)
	r := newRuntime(t)
	for _, ext := range scripted(t) {
		m := script(t, r, ext, "answer")
		require.Equal(t, sandbox.Snapshot, m.Isolation())
		for _, line := range answers {
			x := new(rl.Trajectory)
			require.NoError(t, json.Unmarshal(line, x))
			e := m.Evaluate(context.Background(), x)
			require.Equal(t, reward.Scored, e.Outcome, "%s, %s: %s", ext, x.ID, e.Reason)
			require.Equal(t, string(x.Metadata["is_correct"]) == "true", e.Result.Score == 1, "%s, %s", ext, x.ID)
		}
	}
}
