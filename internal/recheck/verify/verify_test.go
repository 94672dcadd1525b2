package verify_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/env"
	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/core/run"
	"github.com/merit-rl/merit/core/train"
	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/internal/data/jsonl"
	"github.com/merit-rl/merit/internal/recheck/verify"
	"github.com/merit-rl/merit/internal/runs/measure"
	"github.com/merit-rl/merit/sdk/merit"
	_ "github.com/merit-rl/merit/sdk/merit/standard"
)

const (
	slots = 4
	cells = 5
)

// corridor is an environment: walk to the last cell.
type corridor struct{ at, steps [slots]int }

func (c *corridor) Spec() env.Spec {
	return env.Spec{Name: "corridor", Version: "1", Slots: slots, Actions: []string{"left", "right"}, FeatureShape: []int{cells}, MaxSteps: 6}
}

func (c *corridor) Exchange(_ context.Context, b *env.Batch, r *env.Reply) error {
	r.Anchor, r.Text = make([]string, slots), make([]string, slots)
	r.Features, r.Reward, r.Flags = make([]float32, slots*cells), make([]float64, slots), make([]env.Flag, slots)
	r.Mask = bytes.Repeat([]byte{1}, slots*2)
	for i, op := range b.Ops {
		switch op {
		case env.Reset:
			c.at[i], c.steps[i] = int(rl.Seed(b.Seeds[i]).Uniform()*(cells-1)), 0
		case env.Step:
			c.at[i] = max(c.at[i]+2*int(b.Actions[i])-1, 0)
			c.steps[i]++
			r.Reward[i] = 0.1 * float64(c.at[i])
		}
		r.Text[i] = fmt.Sprint("cell ", c.at[i])
		r.Anchor[i] = r.Text[i]
		r.Features[i*cells+min(c.at[i], cells-1)] = 1
		switch {
		case c.at[i] == cells-1:
			r.Flags[i] = env.Terminated
		case c.steps[i] == 6:
			r.Flags[i] = env.Truncated
		}
	}
	return nil
}

func (c *corridor) Close() error { return nil }

// arrived is a scorer: a third for an episode that reached the end, and no score for some of
// the others.
type arrived struct{ digest string }

func (a arrived) Info() reward.Info {
	return reward.Info{Name: "arrived", Digest: a.digest, StepIndexing: reward.ByAssistant}
}

func (arrived) Evaluate(_ context.Context, t *rl.Trajectory) reward.Evaluation {
	switch {
	case t.StopReason == rl.StopTerminated:
		return reward.Evaluation{Outcome: reward.Scored, Result: rl.EvaluateResult{Score: 1.0 / 3, IsScoreValid: true, Reason: "arrived"}}
	case len(t.ID)%5 == 0 && strings.HasSuffix(t.ID, "1"):
		return reward.Evaluation{Outcome: reward.Trap, Reason: "lost"}
	}
	return reward.Evaluation{Outcome: reward.Scored, Result: rl.EvaluateResult{IsScoreValid: true}}
}

// ranked is a scorer that compares: the further an episode got among those of its group, the
// higher its score.
type ranked struct{}

func (ranked) Info() reward.Info {
	return reward.Info{Name: "ranked", Digest: "sha256:r", StepIndexing: reward.ByAssistant, Group: true}
}

func (r ranked) Evaluate(ctx context.Context, t *rl.Trajectory) reward.Evaluation {
	return r.EvaluateGroup(ctx, []*rl.Trajectory{t})[0]
}

func (ranked) EvaluateGroup(_ context.Context, members []*rl.Trajectory) []reward.Evaluation {
	out := make([]reward.Evaluation, len(members))
	for i, t := range members {
		longer := 0.0
		for _, u := range members {
			if len(u.Steps) > len(t.Steps) {
				longer++
			}
		}
		out[i] = reward.Evaluation{Outcome: reward.Scored, Result: rl.EvaluateResult{Score: longer / 8, IsScoreValid: true}}
	}
	return out
}

// trained returns a run of two iterations.
func trained(t *testing.T, overrides ...string) string {
	t.Helper()
	return trainedBy(t, arrived{"sha256:a"}, append([]string{"rewards=[{environment: true, weight: 0.5}]"}, overrides...)...)
}

func trainedBy(t *testing.T, scorer reward.Scorer, overrides ...string) string {
	t.Helper()
	cfg, err := merit.PlayConfig(append([]string{
		"align.max_unscored=1", "rollout.groups=3", "rollout.members=4",
		"train.iterations=2", "train.evaluate_every=2", "train.validation_episodes=4", "train.test_episodes=4", "save.groups=2",
	}, overrides...)...)
	require.NoError(t, err)
	open := func(context.Context, string, int) (env.Env, error) { return &corridor{}, nil }
	s, err := merit.Open(t.Context(), cfg, merit.WithEnvironment(open), merit.WithScorer(scorer, 1))
	require.NoError(t, err)
	defer s.Close()
	dir := t.TempDir()
	_, err = s.Train(t.Context(), merit.TrainOptions{Dir: dir})
	require.NoError(t, err)
	return dir
}

func check(t *testing.T, dir string) *verify.Report {
	t.Helper()
	r, err := verify.Run(t.Context(), dir, verify.Options{}, merit.WithScorer(arrived{"sha256:a"}, 1))
	require.NoError(t, err)
	return r
}

// Promise: everything that a run saved is recomputed bit for bit, with every estimator of
// training: results of all trajectories, and the advantages of whole groups.
func TestARunAgrees(t *testing.T) {
	testneeds.NotShort(t)
	for _, settings := range [][]string{
		{"advantage.estimator=gigpo"},
		{"advantage.estimator=reinforce_pp", "advantage.invalid_action_penalty=0.1"},
		{"advantage.estimator=gae", "policy.value_head=true"},
		{"advantage.estimator=hgpo", "advantage.normalization=mean_std_norm", "align.env_reward_weight=0.3"},
	} {
		t.Run(settings[0], func(t *testing.T) {
			r := check(t, trained(t, settings...))
			require.Empty(t, r.Findings)
			require.NoError(t, r.Err())
			require.True(t, r.Rescored())
			train := r.Files[0]
			require.Equal(t, 4, train.Groups, "two of each iteration")
			require.Positive(t, train.Advantages)
			require.Equal(t, train.Trajectories, train.Rescored)
			require.Equal(t, "sha256", train.Checked)
			require.Len(t, r.Files, 13, "all files of the run")
			require.Empty(t, r.Unsealed)
			require.Equal(t, 4, r.Files[1].Rescored)
		})
	}
}

// Promise: which episodes of the test won is recomputed from the scores of both policies, whether
// or not the reward can be run again; one that was changed is found, with the share that is right,
// and so is a win rate of a summary.
func TestWonEpisodes(t *testing.T) {
	testneeds.NotShort(t)
	dir := trainedBy(t, ranked{}, "rollout.members=8", "train.test_episodes=8")
	won := 0
	for e, err := range jsonl.Trajectories(filepath.Join(dir, run.Trajectories, "test-trained.jsonl.zst")) {
		require.NoError(t, err)
		if e.Won != nil {
			won++
		}
	}
	require.Positive(t, won)
	forged := t.TempDir()
	require.NoError(t, os.CopyFS(forged, os.DirFS(dir)))
	share := 0.3
	episodes(func(e *rl.Trajectory) { e.Won = &share })(t, filepath.Join(forged, run.Trajectories, "test-trained.jsonl.zst"))
	lost := t.TempDir()
	require.NoError(t, os.CopyFS(lost, os.DirFS(dir)))
	episodes(func(e *rl.Trajectory) { e.Won = nil })(t, filepath.Join(lost, run.Trajectories, "test-trained.jsonl.zst"))
	for name, opts := range map[string][]merit.Option{"again": {merit.WithScorer(ranked{}, 1)}, "stored": nil} {
		t.Run(name, func(t *testing.T) {
			verified := func(dir string) *verify.Report {
				r, err := verify.Run(t.Context(), dir, verify.Options{}, opts...)
				require.NoError(t, err)
				require.Equal(t, opts != nil, r.Rescored())
				return r
			}
			require.NoError(t, verified(dir).Err())
			for _, changed := range []string{forged, lost} {
				require.True(t, slices.ContainsFunc(verified(changed).Findings, func(f verify.Finding) bool { return f.Field == "won" && f.Trajectory != "" && f.Computed != f.Stored }))
			}
		})
	}
	rewrite(t, filepath.Join(earlier(t, dir), run.SummaryFile), func(s map[string]any) { s["trained"].(map[string]any)["wins"].(map[string]any)["rate"] = 0.99 })
	r, err := verify.Run(t.Context(), dir, verify.Options{}, merit.WithScorer(ranked{}, 1))
	require.NoError(t, err)
	require.ErrorContains(t, r.Err(), "trained.wins.rate: stored 0.99")
}

// Promise: a missing scorer is not a failure of the run: its stored results are used to
// compute the advantages. A scorer with a different digest is a failure.
func TestRewardsThatAreNotTheRuns(t *testing.T) {
	dir := trained(t)
	r, err := verify.Run(t.Context(), dir, verify.Options{})
	require.NoError(t, err)
	require.NoError(t, r.Err())
	require.False(t, r.Rescored())
	require.Contains(t, r.Rewards[1].Why, "the program that trained")
	require.Zero(t, r.Files[0].Rescored)
	require.Positive(t, r.Files[0].Advantages)

	r, err = verify.Run(t.Context(), dir, verify.Options{}, merit.WithScorer(arrived{"sha256:b"}, 1))
	require.NoError(t, err)
	require.ErrorIs(t, r.Err(), fault.Of(fault.Data, fault.Differs))
	require.ErrorContains(t, r.Err(), "digest of reward arrived: stored sha256:a, computed sha256:b")
}

// earlier converts a run to one of a version that stored no digests of files.
func earlier(t *testing.T, dir string) string {
	require.NoError(t, os.Remove(filepath.Join(dir, run.DigestsFile)))
	rewrite(t, filepath.Join(dir, run.ManifestFile), func(m map[string]any) {
		delete(m, "files")
		delete(m, "digest")
	})
	return dir
}

// rewrite changes an object of JSON in a file.
func rewrite(t *testing.T, path string, change func(map[string]any)) {
	var m map[string]any
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(data, &m))
	change(m)
	data, err = json.Marshal(m)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, data, 0o644))
}

// Promise: one byte that is changed, added or lost in any file of a finished run is found, and
// so is a missing or added file; the first finding names the file and, in a text, the line.
func TestOneByteOfAnyFile(t *testing.T) {
	testneeds.NotShort(t)
	dir := trained(t)
	require.Empty(t, check(t, dir).Findings)
	files, err := run.Files(dir)
	require.NoError(t, err)
	for _, name := range append(files, run.LockFile) {
		text, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		changes := map[string][]byte{"a byte more": append(slices.Clone(text), 'x'), "no file": nil}
		for i, at := range []int{0, len(text) - 1, len(text) / 2} {
			if len(text) > 0 {
				flipped := slices.Clone(text)
				flipped[max(at, 0)] ^= 1
				changes[fmt.Sprint("byte ", i)] = flipped
				changes["a byte less"] = text[:len(text)-1]
			}
		}
		for what, now := range changes {
			t.Run(name+": "+what, func(t *testing.T) {
				changed := t.TempDir()
				require.NoError(t, os.CopyFS(changed, os.DirFS(dir)))
				path := filepath.Join(changed, name)
				if require.NoError(t, os.Remove(path)); now != nil {
					require.NoError(t, os.WriteFile(path, now, 0o644))
				}
				r := check(t, changed)
				require.NotEmpty(t, r.Findings)
				require.ErrorIs(t, r.Err(), fault.Of(fault.Data, fault.Differs))
				require.Equal(t, name, r.Findings[0].File, r.Findings)
				if what == "byte 2" && slices.Contains([]string{run.ConfigFile, run.MetricsFile, run.StartsFile, run.SummaryFile, run.ReportFile}, name) {
					line := 1 + bytes.Count(text[:len(text)/2], []byte("\n"))
					require.Equal(t, fmt.Sprint("line ", line), r.Findings[0].Field)
				}
			})
		}
	}
	extra := filepath.Join(dir, run.Trajectories, "test-better.jsonl.zst")
	require.NoError(t, os.WriteFile(extra, nil, 0o644))
	require.ErrorContains(t, check(t, dir).Err(), extra+": file: stored a file, computed nothing")
}

// Promise: a file instead of a run directory is rejected, with the commands that check a file
// of results.
func TestAFileIsNotARun(t *testing.T) {
	path := filepath.Join(t.TempDir(), "results.jsonl")
	require.NoError(t, os.WriteFile(path, []byte("{}\n"), 0o600))
	_, err := verify.Run(t.Context(), path, verify.Options{})
	require.ErrorIs(t, err, fault.Of(fault.Data, fault.Invalid))
	require.ErrorContains(t, err, "files of results have no digests")
	require.Contains(t, fault.As(err).Hint, "merit reward diff "+path)
}

// Promise: the figures of a summary are recomputed from the saved episodes and checkpoints,
// even if a run has no digests, and the report says that it has none.
func TestFiguresOfASummary(t *testing.T) {
	dir := earlier(t, trained(t))
	r := check(t, dir)
	require.Empty(t, r.Findings)
	require.Contains(t, r.Unsealed, "the version of Merit that created the run wrote none")
	for field, value := range map[string]any{
		"baseline.success": 0.93, "trained.return": 7.5, "trained.success_interval": []any{0.9, 1.0}, "trained.episodes": 5, "trained.length": 2.25,
		"p_value": 0.001, "p_value_test": "none", "best_iteration": 1, "env_steps": 7, "episodes": 7, "iterations": 9, "starts.distinct": 9,
		"starts.in_training": 0, "outcomes.scored": 3, "rewards": nil, "baseline.metrics": nil,
	} {
		t.Run(field, func(t *testing.T) {
			changed := t.TempDir()
			require.NoError(t, os.CopyFS(changed, os.DirFS(dir)))
			rewrite(t, filepath.Join(changed, run.SummaryFile), func(s map[string]any) {
				if part, name, ok := strings.Cut(field, "."); ok {
					s[part].(map[string]any)[name] = value
				} else {
					s[field] = value
				}
			})
			err := check(t, changed).Err()
			require.ErrorContains(t, err, filepath.Join(changed, run.SummaryFile)+": "+field)
		})
	}
	for _, c := range []struct{ file, before, now string }{{run.ConfigFile, "seed: 1\nenv", "seed: 2\nenv"}, {run.ManifestFile, `"seed":1`, `"seed":2`}} {
		changed := t.TempDir()
		require.NoError(t, os.CopyFS(changed, os.DirFS(dir)))
		replace(c.before, c.now)(t, filepath.Join(changed, c.file))
		require.ErrorContains(t, check(t, changed).Err(), c.file+": seed: stored 2, computed 1 by checkpoints/last")
	}
	require.NoError(t, os.Remove(filepath.Join(dir, run.StartsFile)))
	require.ErrorContains(t, check(t, dir).Err(), "summary.json: starts.in_training: stored")
}

// stopper stops a run after its first iteration.
type stopper struct {
	train.Quiet
	stop func()
}

func (s stopper) Iterated(run.Iteration, int) { s.stop() }

// Promise: a resumed run has no digests until it stops again, and the report says so; then it
// has those of all its files.
func TestARunThatGoesOn(t *testing.T) {
	dir := trained(t)
	cfg, err := merit.LoadRun(dir)
	require.NoError(t, err)
	cfg.Train.Iterations = 3
	open := func(context.Context, string, int) (env.Env, error) { return &corridor{}, nil }
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s, err := merit.Open(t.Context(), cfg, merit.WithEnvironment(open), merit.WithScorer(arrived{"sha256:a"}, 1), merit.WithProgress(stopper{stop: cancel}))
	require.NoError(t, err)
	defer s.Close()
	_, err = s.Train(ctx, merit.TrainOptions{Dir: dir, Resume: true})
	require.Error(t, err)
	r := check(t, dir)
	require.Empty(t, r.Findings)
	require.Contains(t, r.Unsealed, "when the run is finished")

	s, err = merit.Open(t.Context(), cfg, merit.WithEnvironment(open), merit.WithScorer(arrived{"sha256:a"}, 1))
	require.NoError(t, err)
	defer s.Close()
	_, err = s.Train(t.Context(), merit.TrainOptions{Dir: dir, Resume: true})
	require.NoError(t, err)
	r = check(t, dir)
	require.Empty(t, r.Findings)
	require.Empty(t, r.Unsealed)
}

// Promise: any change in the content of a run is found, and the first finding names file,
// trajectory, step, field and both values.
func TestOneChange(t *testing.T) {
	testneeds.NotShort(t)
	dir := earlier(t, trained(t))
	train := filepath.Join(run.Trajectories, run.TrainTrajectories)
	for _, c := range []struct {
		name, file string
		change     func(t *testing.T, path string)
		want       string
	}{
		{"an advantage", train, episodes(func(e *rl.Trajectory) { e.Steps[0].Credit.Advantage += 1e-15 }), `train-\d+-g\d+-m\d+, step 0, credit.advantage: stored -?[0-9.e-]+, computed -?[0-9.e-]+`},
		{"an anchor group", train, episodes(func(e *rl.Trajectory) { e.Steps[0].Credit.AnchorGroup += 7 }), `step \d, credit.anchor_group: stored \d+, computed \d+`},
		{"credit that is gone", train, episodes(func(e *rl.Trajectory) { e.Steps[0].Credit = nil }), `step 0, credit: stored nothing, computed {`},
		{"a score", train, episodes(func(e *rl.Trajectory) { e.Evaluation.Score += 1e-15 }), `evaluation.score: stored .*, computed `},
		{"an outcome", train, episodes(func(e *rl.Trajectory) { e.Outcome = "trap" }), `outcome: stored "trap", computed "scored"`},
		{"a step's own reward", train, episodes(func(e *rl.Trajectory) { e.Steps[0].EnvReward += 1 }), `evaluation.metrics.environment.score: stored`},
		{"what no reward reads", train, episodes(func(e *rl.Trajectory) { e.Messages[0].Content = rl.Text("cell 9") }), `episodes of iteration 1: stored sha256:[0-9a-f]+ in metrics.jsonl, computed `},
		{"episodes that were never played", train, double, `bytes after the last iteration: stored [1-9]\d*, computed 0 by metrics.jsonl`},
		{"a bit of the file", train, flip, `file: stored .*, computed trajectories`},
		{"a bit of a test", filepath.Join(run.Trajectories, "test-trained.jsonl.zst"), flip, `file: stored `},
		{"a checkpoint", filepath.Join(run.Checkpoints, run.Last), flip, `checkpoint is damaged`},
		{"a count of the checkpoint, summed anew", filepath.Join(run.Checkpoints, run.Last), below, `metric_lines: stored -\d+, computed \d+ in metrics.jsonl`},
		{"metrics", run.MetricsFile, replace(`"env_steps":`, `"env_steps":1`), `env_steps: stored \d+, computed 1\d+ in metrics.jsonl`},
		{"the estimator", run.ConfigFile, replace("gamma: 0.95", "gamma: 0.94"), `credit.`},
		{"a weight", run.ConfigFile, replace("weight: 0.5", "weight: 0.25"), `weight of reward environment: stored 0.25, computed 0.5 by manifest.json`},
	} {
		t.Run(c.name, func(t *testing.T) {
			changed := t.TempDir()
			require.NoError(t, os.CopyFS(changed, os.DirFS(dir)))
			c.change(t, filepath.Join(changed, c.file))
			r := check(t, changed)
			require.NotEmpty(t, r.Findings)
			require.Regexp(t, c.want, r.Err().Error())
			require.Regexp(t, "^"+changed, r.Err().Error())
		})
	}
	require.Empty(t, check(t, dir).Findings)
}

// episodes changes the first trajectory of a whole group that has steps and a score.
func episodes(change func(*rl.Trajectory)) func(*testing.T, string) {
	return func(t *testing.T, path string) {
		var all []*rl.Trajectory
		members := map[string]int{}
		for e, err := range jsonl.Trajectories(path) {
			require.NoError(t, err)
			all = append(all, e)
			members[e.Group]++
		}
		for _, e := range all {
			if members[e.Group] == 4 && e.Outcome == string(reward.Scored) && len(e.Steps) > 1 {
				change(e)
				break
			}
		}
		var b bytes.Buffer
		z, err := zstd.NewWriter(&b)
		require.NoError(t, err)
		enc := json.NewEncoder(z)
		for _, e := range all {
			require.NoError(t, enc.Encode(e))
		}
		require.NoError(t, z.Close())
		require.NoError(t, os.WriteFile(path, b.Bytes(), 0o644))
	}
}

func flip(t *testing.T, path string) {
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	data[len(data)/2] ^= 4
	require.NoError(t, os.WriteFile(path, data, 0o644))
}

// below makes a checkpoint count fewer than no lines.
func below(t *testing.T, path string) {
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	const start = len("MERITCK1") + 4
	size := binary.LittleEndian.Uint32(data[start-4:])
	header := bytes.Replace(data[start:][:size], []byte(`"metric_lines":`), []byte(`"metric_lines":-`), 1)
	out := binary.LittleEndian.AppendUint32(slices.Clone(data[:start-4]), uint32(len(header)))
	out = slices.Concat(out, header, data[start+int(size):len(data)-sha256.Size])
	sum := sha256.Sum256(out)
	require.NoError(t, os.WriteFile(path, append(out, sum[:]...), 0o644))
}

// double appends the content of a file to itself.
func double(t *testing.T, path string) {
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, append(data, data...), 0o644))
}

func replace(before, now string) func(*testing.T, string) {
	return func(t *testing.T, path string) {
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Contains(t, string(data), before)
		at := strings.LastIndex(string(data), before)
		require.NoError(t, os.WriteFile(path, []byte(string(data[:at])+now+string(data[at+len(before):])), 0o644))
	}
}

// Promise: a run whose manifest names no environment yields no evidence, and the error says
// so.
func TestNoEnvironmentNoEvidence(t *testing.T) {
	dir := trained(t)
	path := filepath.Join(dir, run.ManifestFile)
	var m map[string]any
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(data, &m))
	require.NotEmpty(t, m["plugins"])
	m["plugins"] = nil
	data, err = json.Marshal(m)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, data, 0o644))
	_, _, err = measure.OfRun(dir)
	require.ErrorIs(t, err, fault.Of(fault.Storage, fault.Corrupt))
	require.ErrorContains(t, err, "names no environment")
}

// Promise: a folder that is not a run is an error, not a report.
func TestNoRun(t *testing.T) {
	_, err := verify.Run(t.Context(), t.TempDir(), verify.Options{})
	require.ErrorIs(t, err, fault.Of(fault.Storage, fault.Missing))
}
