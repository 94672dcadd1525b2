package tinker_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/run"
	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/internal/fleet"
	"github.com/merit-rl/merit/internal/fleet/queue"
	"github.com/merit-rl/merit/sdk/merit"
)

// work is a worker process of a fleet, as merit fleet worker is.
func work(args []string) {
	o := fleet.WorkOptions{}
	f := flag.NewFlagSet("worker", flag.ExitOnError)
	f.StringVar(&o.Join, "join", "", "")
	f.StringVar(&o.Name, "name", "", "")
	f.IntVar(&o.Slots, "slots", 1, "")
	f.String("allow-plugin", "", "")
	f.Bool("with-parent", false, "")
	f.Bool("quiet", false, "")
	_ = f.Parse(args) // it exits
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // until the parent ends
		cancel()
	}()
	if err := fleet.Work(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// tasteScript is taste for workers, who have no scorer of this process.
const tasteScript = `
export default function (rollout) {
  let sum = 0, n = 1;
  for (const m of rollout.messages) {
    if (m.role !== "assistant") continue;
    for (let i = 0; i < m.content.length; i++) { sum += m.content.charCodeAt(i) % 7; n += 7; }
  }
  return { score: sum / n, is_score_valid: true, metrics: {} };
}
`

// remote is a session whose environment, reward and learner can be sent to workers.
func remote(t *testing.T, plugin, url, tokenizer string) *merit.Config {
	t.Helper()
	dir := t.TempDir()
	build := exec.Command("go", "build", "-o", filepath.Join(dir, "sokoban"), "./plugins/sokoban")
	build.Dir = testneeds.Root()
	text, err := build.CombinedOutput()
	require.NoError(t, err, string(text))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "taste.js"), []byte(tasteScript), 0o600))
	cfg, err := merit.ParseConfig("train.yaml", fmt.Appendf(nil, `
seed: 3
environment: {plugin: ./sokoban, slots: 4, options: {size: 6, boxes: 1, walls: [0, 2], optimum: [1, 6], max_steps: 3}}
rewards: [{module: ./taste.js}]
rollout: {groups: 4, members: 4, parallel: 1, in_flight: 4, step_deadline: 5m}
advantage: {estimator: grpo}
policy: {plugin: %s, options: {url: "%s", tokenizer: %s, max_tokens: 3, prefill: "Move:", learning_rate: 5, batch: 16}}
train: {iterations: 3, evaluate_every: 2, checkpoint_every: 1, validation_episodes: 4, test_episodes: 4}
save: {every: 1}
fleet: {groups: 1, verify: 0.3}
`, plugin, url, tokenizer), dir)
	require.NoError(t, err)
	return cfg
}

// played trains, and returns what the run wrote that names no server's weights: the
// episodes, and the numbers of every iteration.
func played(t *testing.T, cfg *merit.Config, f queue.Fleet) map[string]string {
	t.Helper()
	s, err := merit.Open(t.Context(), cfg)
	require.NoError(t, err)
	defer s.Close()
	o := merit.TrainOptions{Dir: filepath.Join(t.TempDir(), "run")}
	if f != nil {
		c, err := fleet.NewCoordinator(f, s, fleet.CoordinatorOptions{})
		require.NoError(t, err)
		o.OpenPlayer = c.OpenPlayer
		defer func() { require.NotEmpty(t, c.Totals().Workers, "workers played") }()
	}
	_, err = s.Train(t.Context(), o)
	require.NoError(t, err)
	lines, episodes := setting{Dir: o.Dir}.result(t)
	numbers, err := json.Marshal(lines)
	require.NoError(t, err)
	files := map[string]string{"metrics": string(numbers), "train": string(episodes)}
	names, err := filepath.Glob(filepath.Join(o.Dir, "trajectories", "*"))
	require.NoError(t, err)
	for _, name := range append(names, filepath.Join(o.Dir, run.StartsFile)) {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		files[filepath.Base(name)] = string(text)
	}
	require.Len(t, lines, 4)
	for _, it := range lines[1:] {
		require.Positive(t, it.Update.GradNorm, "the weights change")
	}
	return files
}

// Promise: a model whose weights a Tinker service holds is trained with the bytes of
// a run without a fleet: orders name where the service has saved the weights, and
// workers ask the service themselves.
func TestOverAFleet(t *testing.T) {
	testneeds.Slow(t, "trains a language model")
	python := testneeds.PythonWith(t, modules...)
	t.Setenv("TMPDIR", t.TempDir())
	folder, err := os.Getwd()
	require.NoError(t, err)
	plugin := filepath.Join(t.TempDir(), "tinker")
	script := fmt.Sprintf("#!/bin/sh\ncd '%s'\nPYTHONPATH='%s' HF_HUB_OFFLINE=1 %s exec '%s' -m merit_tinker\n", folder, sources(), strings.Join(bytecode(), " "), python)
	require.NoError(t, os.WriteFile(plugin, []byte(script), 0o700)) //nolint:gosec // it is a program
	url, tokenizer := fake(t, python)
	cfg := remote(t, plugin, url, tokenizer)
	plain := played(t, cfg, nil)
	f, err := fleet.Open(t.Context(), fleet.Embedded, cfg, fleet.OpenOptions{Workers: 2})
	require.NoError(t, err)
	require.Equal(t, plain, played(t, cfg, f))
	require.Zero(t, f.Report().Differed)
	require.NoError(t, f.Close())
}
