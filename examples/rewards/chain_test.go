package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/sdk/merit"
)

// Promise: sympy scores what the compiled verifier has no score for and nothing else, and
// each score says which of the two decided.
func TestVerifierThenSympy(t *testing.T) {
	testneeds.Slow(t, "starts sympy")
	second := mathPackages(t)
	wasm := filepath.Join(t.TempDir(), "verifier.wasm")
	build := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-buildmode=c-shared", "-ldflags=-s -w", "-o", wasm, "./verifier")
	build.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
	text, err := build.CombinedOutput()
	require.NoError(t, err, string(text))

	rows := []struct{ id, gold, text, decider, score string }{
		{"fraction", `\\frac{1}{2}`, `\\boxed{0.5}`, "verifier", "1"},
		{"integral", `\\int_0^1 x\\,dx`, `\\boxed{\\frac{1}{2}}`, "math", "1"},
		{"wrong", `\\int_0^1 x\\,dx`, `\\boxed{\\frac{1}{3}}`, "math", "0"},
		{"lengths", `5\\text{ cm}`, `\\boxed{5\\text{ m}}`, "verifier", "0"},
	}
	var data strings.Builder
	for _, r := range rows {
		fmt.Fprintf(&data, `{"id": "%s", "ground_truth": "%s", "messages": [{"role": "assistant", "content": "%s"}]}`+"\n", r.id, r.gold, r.text)
	}
	in, out := filepath.Join(t.TempDir(), "in.jsonl"), filepath.Join(t.TempDir(), "out.jsonl")
	require.NoError(t, os.WriteFile(in, []byte(data.String()), 0o644))

	cfg := merit.DefaultConfig().Sandbox
	cfg.Fuel, cfg.WallClock, cfg.StartWallClock = 2_000_000_000, time.Hour, time.Hour
	rewards, err := merit.LoadRewards(t.Context(), cfg, []merit.Reward{{Module: wasm, Weight: 1, Otherwise: &merit.Reward{Module: second, Weight: 1}}})
	require.NoError(t, err)
	defer rewards.Close()
	_, err = rewards.Evaluate(t.Context(), merit.EvaluateOptions{Data: in, Out: out})
	require.NoError(t, err)
	text, err = os.ReadFile(out)
	require.NoError(t, err)
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	require.Len(t, lines, len(rows))
	for i, r := range rows {
		require.Regexp(t, `"id":"`+r.id+`","outcome":"scored","score":`+r.score+`,.*"decided_by":\{"score":[01],"is_score_valid":true,"reason":"`+r.decider+`"\}`, lines[i])
	}
}
