package watch

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/monitor"
	"github.com/merit-rl/merit/core/run"
)

// dump writes n files of a made training in the shape of verl's rollout_data_dir, 8 prompts of 4
// answers each. answer returns what an episode of step s wrote, its score and whether it was right.
func dump(t *testing.T, n int, answer func(s int, chance *rand.Rand) (text string, score any, right bool)) string {
	dir, chance := t.TempDir(), rand.New(rand.NewPCG(1, 2))
	for s := 1; s <= n; s++ {
		var text strings.Builder
		for m := range 32 {
			output, score, right := answer(s, chance)
			line, err := json.Marshal(map[string]any{
				"input": fmt.Sprintf("user\nquestion %d\nassistant\n", m%8), "output": output, "gts": "1", "score": score, "step": s, "acc": right,
			})
			require.NoError(t, err)
			text.Write(append(line, '\n'))
		}
		require.NoError(t, os.WriteFile(filepath.Join(dir, fmt.Sprintf("%d.jsonl", s)), []byte(text.String()), 0o644))
	}
	return dir
}

// prose returns n words, of which few repeat.
func prose(n int, chance *rand.Rand) string {
	words := make([]string, n)
	for i := range words {
		words[i] = fmt.Sprintf("w%d", chance.IntN(500))
	}
	return strings.Join(words, " ")
}

// learns goes from 20 % right answers to 60 %, and writes prose of about 20 words.
func learns(s int, chance *rand.Rand) (string, any, bool) {
	right := chance.Float64() < 0.2+0.4*min(1, float64(s)/30)
	score := 0.0
	if right {
		score = 1
	}
	return prose(16+chance.IntN(8), chance), score, right
}

// hacked does not learn until step 24; from then on it is paid for one word that it repeats.
func hacked(s int, chance *rand.Rand) (string, any, bool) {
	if s <= 24 {
		return prose(16+chance.IntN(8), chance), 0.2 + 0.1*chance.Float64(), chance.Float64() < 0.2
	}
	return strings.TrimSpace(strings.Repeat("good ", 80)), 0.9 + 0.1*chance.Float64(), false
}

func look(t *testing.T, o Options, path string) *Report {
	o.Success, o.Window = cmp.Or(o.Success, "1"), 10
	r, err := Rollouts(t.Context(), []string{path}, o)
	require.NoError(t, err)
	return r
}

func names(r *Report) (all []string) {
	for _, f := range r.Flags {
		if !slices.Contains(all, f.Name) {
			all = append(all, f.Name)
		}
	}
	slices.Sort(all)
	return all
}

// Promise: training that learns the task raises no flag, and the report says which flags cannot
// be raised, by names that the monitor has.
func TestHealthy(t *testing.T) {
	r := look(t, Options{Success: "acc"}, dump(t, 45, learns))
	require.Empty(t, r.Flags)
	require.Equal(t, []int{45, 1, 45, 45 * 32, 0}, []int{r.Iterations, r.First, r.Last, r.Episodes, r.Unscored})
	require.InDelta(t, 0.6, r.Success, 0.25)
	c := monitor.Default()
	for _, gap := range r.NotWatched {
		c.Off = append(c.Off, gap.Flags...)
	}
	require.Empty(t, c.Validate())
	require.Equal(t, []string{"kl", "entropy_collapse", "value_loss", "gradient_explosion", "held_out_gap", "singleton_anchors", "plateau"}, c.Off)
}

// Promise: training that exploits its reward raises the flags of what it does, and lists
// episodes of the iteration, with their file.
func TestHacked(t *testing.T) {
	dir := dump(t, 45, hacked)
	r := look(t, Options{}, dir)
	require.Equal(t, []string{"length", "lost_diversity", "repetition", "reward_jump"}, names(r))
	for _, f := range r.Flags {
		require.Len(t, f.Trajectories, 5, f.Name)
		require.Equal(t, []string{filepath.Join(dir, fmt.Sprintf("%d.jsonl", f.Iteration))}, f.Files)
		require.Equal(t, f.Files[0], f.First)
		require.True(t, strings.HasPrefix(f.Trajectories[0], fmt.Sprintf("step-%d-row-", f.Iteration)))
	}
	r = look(t, Options{Success: "acc"}, dir)
	require.Contains(t, names(r), "divergence")
	i := slices.IndexFunc(r.Flags, func(f Flag) bool { return f.Name == "divergence" })
	require.Equal(t, run.Alert, r.Flags[i].Level)
	require.Contains(t, r.Flags[i].Evidence, "while acc went from")
}

// Promise: a failed score is not 0. It is an episode without a score, which raises unscored
// where many are, and changes no mean.
func TestUnscored(t *testing.T) {
	r := look(t, Options{}, dump(t, 6, func(s int, chance *rand.Rand) (string, any, bool) {
		text, score, right := learns(s, chance)
		if s == 4 && chance.Float64() < 0.5 {
			score = nil
		}
		return text, score, right
	}))
	require.Equal(t, []string{"unscored"}, names(r))
	require.Equal(t, 4, r.Flags[0].Iteration)
	require.Equal(t, run.Alert, r.Flags[0].Level)
	require.Positive(t, r.Unscored)
}

// Promise: a trainer that stores every hundredth step gets the flags of one that stores all, and
// a flag that stays raised is not repeated at each.
func TestStepsMayBeFarApart(t *testing.T) {
	var want []string
	for _, each := range []int{1, 100} {
		dir := t.TempDir()
		from := dump(t, 45, hacked)
		for s := 1; s <= 45; s++ {
			text, err := os.ReadFile(filepath.Join(from, fmt.Sprintf("%d.jsonl", s)))
			require.NoError(t, err)
			moved := strings.ReplaceAll(string(text), fmt.Sprintf(`"step":%d}`, s), fmt.Sprintf(`"step":%d}`, s*each))
			require.NoError(t, os.WriteFile(filepath.Join(dir, fmt.Sprintf("%d.jsonl", s*each)), []byte(moved), 0o644))
		}
		r := look(t, Options{}, dir)
		var got []string
		for _, f := range r.Flags {
			got = append(got, fmt.Sprint(f.Name, f.Level, f.Iteration/each))
		}
		if want == nil {
			want = got
		}
		require.Equal(t, want, got)
	}
}

// Promise: rows without a step are grouped by file, in the order of the numbers in the names; a
// column can say the step, and the score, instead; equal prompts are a group.
func TestGrouping(t *testing.T) {
	dir := t.TempDir()
	row := func(step int, score string) string {
		return fmt.Sprintf(`{"prompt": "q", "completion": "a %d", "global_step": %d, "points": %s}`+"\n", step, step, score)
	}
	for _, s := range []int{2, 10, 9} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, fmt.Sprintf("rollout-%d.jsonl", s)), []byte(row(s, "1")+row(s, "0.5")), 0o644))
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "readme.txt"), []byte("not data"), 0o644))
	for _, o := range []Options{{Score: "points"}, {Score: "points", By: "global_step"}} {
		r := look(t, o, dir)
		require.Equal(t, []int{3, 2, 10, 6, 0}, []int{r.Iterations, r.First, r.Last, r.Episodes, r.Unscored})
		require.Equal(t, 0.5, r.Success)
		for _, gap := range r.NotWatched {
			require.NotContains(t, gap.Why, "same prompt")
		}
	}
	one := filepath.Join(dir, "all.jsonl")
	require.NoError(t, os.WriteFile(one, []byte(row(2, "1")+row(9, "1")+row(10, "null")), 0o644))
	r := look(t, Options{Score: "points", By: "global_step"}, one)
	require.Equal(t, []int{3, 2, 10, 3, 1}, []int{r.Iterations, r.First, r.Last, r.Episodes, r.Unscored})
	played := ""
	for _, id := range []string{"train-3-g0-m0", "train-3-g0-m1", "train-12-g0-m0"} {
		played += fmt.Sprintf(`{"id": %q, "prompt": "q", "completion": "a", "score": 1}`+"\n", id)
	}
	require.NoError(t, os.WriteFile(one, []byte(played), 0o644))
	r = look(t, Options{}, one) // episodes of a run of Merit
	require.Equal(t, []int{2, 3, 12, 3, 0}, []int{r.Iterations, r.First, r.Last, r.Episodes, r.Unscored})
}

// Promise: what cannot be watched is an error that says where, why, and what to do.
func TestErrors(t *testing.T) {
	write := func(text string) string {
		path := filepath.Join(t.TempDir(), "rollouts.jsonl")
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
		return path
	}
	ask := func(fields string) string { return `{"prompt": "q", "completion": "a", ` + fields + "}\n" }
	for want, c := range map[string]struct {
		text string
		o    Options
	}{
		":1: the row has no column step":                                 {ask(`"score": 1`), Options{}},
		":1: the row has no column epoch; it has score":                  {ask(`"score": 1, "step": 1`), Options{By: "epoch"}},
		":1: column step must be the number of a training step, not 1.5": {ask(`"score": 1, "step": 1.5`), Options{}},
		":2: step 1 comes after step 2":                                  {ask(`"score": 1, "step": 2`) + ask(`"score": 1, "step": 1`), Options{}},
		":1: column score must be a finite number":                       {ask(`"score": "high", "step": 1`), Options{}},
		"2 lines cannot be used":                                         {ask(`"score": "high", "step": 1`) + ask(`"score": [], "step": 1`), Options{}},
		"no episode has a score":                                         {ask(`"step": 1`), Options{}},
		"no episode has the metric or column acc":                        {ask(`"score": 1, "step": 1`), Options{Success: "acc"}},
		":1: column acc must be a finite number":                         {ask(`"score": 1, "step": 1, "acc": "yes"`), Options{Watch: []string{"-acc"}}},
		"there are no episodes":                                          {"", Options{}},
	} {
		c.o.Success, c.o.Window = cmp.Or(c.o.Success, "1"), 10
		_, err := Rollouts(t.Context(), []string{write(c.text)}, c.o)
		require.ErrorContains(t, err, want)
	}
	_, err := Rollouts(t.Context(), []string{"missing.jsonl"}, Options{Success: "1", Window: 10})
	require.ErrorContains(t, err, "missing.jsonl")
}
