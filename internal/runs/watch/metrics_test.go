package watch

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// training writes metrics of n iterations: a score that rises, a gradient that explodes in the last,
// and a metric that falls.
func training(n int, line func(step int, reward, norm, accuracy float64) string) string {
	var b strings.Builder
	for i := 1; i <= n; i++ {
		x := float64(i) / float64(n)
		norm := 1.0
		if i == n {
			norm = 1000
		}
		fmt.Fprintln(&b, line(i, 0.2+0.6*x+0.002*float64(i%3), norm, 0.5-0.4*x))
	}
	return b.String()
}

func watchMetrics(t *testing.T, name, text string, o Options) *Report {
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	o.Success, o.Window = "1", 5
	r, err := Metrics(t.Context(), []string{path}, o)
	require.NoError(t, err)
	return r
}

func raised(r *Report) map[string]bool {
	names := map[string]bool{}
	for _, f := range r.Flags {
		names[f.Name] = true
	}
	return names
}

// Promise: the metrics of TRL, verl and a history of Weights & Biases give the same red flags, from the names
// that each has, and what a trainer does not log is listed as not watched.
func TestMetricsOfTrainers(t *testing.T) {
	const n = 40
	forms := map[string]string{
		"trl.jsonl": training(n, func(i int, reward, norm, accuracy float64) string {
			return fmt.Sprintf(`{"loss": 0.1, "reward": %v, "reward_std": 0.3, "grad_norm": %v, "acc": %v, "kl": NaN, "step": %d}`, reward, norm, accuracy, i)
		}),
		"verl.jsonl": training(n, func(i int, reward, norm, accuracy float64) string {
			return fmt.Sprintf(`{"step": %d, "data": {"critic/score/mean": %v, "critic/score/std": 0.3, "actor/grad_norm": %v, "acc": %v, "training/global_step": %d}}`, i, reward, norm, accuracy, i)
		}),
		"wandb.jsonl": training(n, func(i int, reward, norm, accuracy float64) string {
			return fmt.Sprintf(`{"_step": %d, "train/reward": %v, "train/reward_std": 0.3, "train/grad_norm": %v, "train/acc": %v, "_runtime": 3}`, i, reward, norm, accuracy)
		}),
	}
	rows := strings.Split(strings.TrimSpace(forms["trl.jsonl"]), "\n")
	forms["trainer_state.json"] = `{"best_metric": null, "global_step": 40, "log_history": [` + strings.Join(rows, ",\n") + `, {"train_runtime": 5.0, "step": 40}], "max_steps": 40}`
	for name, text := range forms {
		r := watchMetrics(t, name, text, Options{Watch: []string{"acc"}})
		require.Equal(t, []int{n, 1, n}, []int{r.Iterations, r.First, r.Last}, name)
		require.Equal(t, map[string]bool{"gradient_explosion": true, "divergence": true}, raised(r), "%s: %v", name, r.Flags)
		gaps := fmt.Sprint(r.NotWatched)
		for _, flag := range []string{"kl", "entropy_collapse", "value_loss", "length", "no_variance", "repetition", "held_out_gap"} {
			require.Contains(t, gaps, flag, name)
		}
	}
}

// Promise: a metric that is missing in some iterations raises nothing, a watched one is an error, and rollouts
// are not taken for metrics.
func TestMetricsThatAreMissing(t *testing.T) {
	text := training(40, func(i int, reward, entropy, _ float64) string {
		if i%2 == 0 {
			return fmt.Sprintf(`{"step": %d, "reward": %v}`, i, reward)
		}
		return fmt.Sprintf(`{"step": %d, "reward": %v, "entropy": %v}`, i, reward, entropy)
	})
	r := watchMetrics(t, "m.jsonl", text, Options{})
	require.Empty(t, r.Flags)
	require.Contains(t, fmt.Sprint(r.NotWatched), "entropy is missing in 20 of 40 iterations")
	path := filepath.Join(t.TempDir(), "m.jsonl")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	_, err := Metrics(t.Context(), []string{path}, Options{Watch: []string{"entropy"}, Success: "1", Window: 5})
	require.ErrorContains(t, err, "not every iteration has the metric entropy")
	_, err = Metrics(t.Context(), []string{path}, Options{Score: "points", Success: "1", Window: 5})
	require.ErrorContains(t, err, "no row has the mean score")
	for _, rollout := range []string{
		`{"step": 1, "input": "q", "output": "a", "score": 1.0, "reward": 1}`, `{"prompt": "q", "completion": "a", "reward": 1, "step": 1}`, `[1]`, ``, `{"a": 1}`,
	} {
		require.Nil(t, watchMetrics(t, "rollouts.jsonl", rollout+"\n", Options{}), rollout)
	}
	r = watchMetrics(t, "cut.jsonl", text+`{"step": 41, "rew`, Options{})
	require.Equal(t, 40, r.Iterations)
	require.NoError(t, os.WriteFile(path, []byte(text+"oops\n"+text), 0o600))
	_, err = Metrics(t.Context(), []string{path}, Options{Success: "1", Window: 5})
	require.ErrorContains(t, err, "m.jsonl:41: is not a row of metrics")
}

// Promise: the flags over a folder of event files are those over the same metrics as rows.
func TestEventFiles(t *testing.T) {
	folder := t.TempDir()
	text, err := os.ReadFile(filepath.Join("..", "..", "telemetry", "eventfile", "testdata", "torch.tfevents"))
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(filepath.Join(folder, "runs", "a"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "runs", "a", "events.out.tfevents.1.host"), text, 0o600))
	r, err := Metrics(t.Context(), []string{folder}, Options{Success: "1", Window: 5})
	require.NoError(t, err)
	require.Equal(t, []int{3, 1, 3}, []int{r.Iterations, r.First, r.Last})
	require.Equal(t, []Source{{"the mean score", "reward"}}, r.Read)
	require.Equal(t, []string{"kl"}, r.Unused)
}

// Promise: no file makes the reader of metrics fail in another way than with an error.
func FuzzMetrics(f *testing.F) {
	f.Add(`{"step": 1, "reward": 1}` + "\n")
	f.Add(`{"log_history": [{"reward": NaN, "step": 1}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		path := filepath.Join(t.TempDir(), "m.jsonl")
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		_, _ = Metrics(t.Context(), []string{path}, Options{Success: "1", Window: 5})
	})
}
