package learning_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/core/run"
	"github.com/merit-rl/merit/core/train"
	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/internal/recheck/verify"
	"github.com/merit-rl/merit/internal/traces/learning"
	"github.com/merit-rl/merit/internal/traces/store"
	"github.com/merit-rl/merit/internal/traces/trace"
	"github.com/merit-rl/merit/sdk/merit"
	_ "github.com/merit-rl/merit/sdk/merit/standard"
)

var (
	began  = time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	now    = began.Add(72 * time.Hour)
	colors = []string{"blue", "green", "red"}
)

// recordings puts traces of tasks into a new store: an agent that cannot see was
// shown a thing and said one of three colors, each as likely, and was right or
// not. Without odds nobody wrote down how likely.
func recordings(t *testing.T, tasks, each int, odds bool) *store.Store {
	s, err := store.Open(t.Context(), filepath.Join(t.TempDir(), "traces.db"))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	things := map[string][]string{"blue": {"sky", "sea", "jeans"}, "green": {"grass", "leaf", "frog"}, "red": {"blood", "rose", "brick"}}
	var spans []trace.Span
	var about []trace.About
	for i := range tasks {
		right := colors[i%3]
		for k := range each {
			id, seed := fmt.Sprintf("trace-%d-%d", i, k), rl.Seed(i).Child(uint64(k))
			said, score := colors[int(seed.Uniform()*3)], 0.0
			if said == right {
				score = 1
			}
			start := began.Add(time.Duration(i*each+k) * time.Second)
			answer := rl.Message{Role: rl.RoleAssistant, Content: rl.Text(said)}
			call := trace.Span{
				Trace: id, ID: "call", Agent: "painter", Kind: trace.KindPrompt, Name: "m", Start: start, End: start.Add(time.Millisecond), Status: trace.StatusOK,
				Prompt: &trace.Prompt{Answer: &answer, Settings: json.RawMessage(`{"guided_choice":["red","green","blue"]}`), Messages: []rl.Message{
					{Role: rl.RoleUser, Content: rl.Text(fmt.Sprintf("thing %d looks like %s", i, things[right][i/3%3]))},
				}},
			}
			if odds {
				call.Prompt.Tokens = []trace.Token{{Text: said, LogProb: math.Log(1. / 3)}}
			}
			spans = append(spans, call, rewardSpan(id, "reward", "", start.Add(time.Second), score))
			about = append(about, trace.About{Trace: id, Task: fmt.Sprintf("task-%d", i), Status: trace.StatusOK})
		}
	}
	require.NoError(t, s.Put(t.Context(), spans, about))
	return s
}

func rewardSpan(of, id, digest string, at time.Time, score float64) trace.Span {
	return trace.Span{
		Trace: of, ID: id, Kind: trace.KindReward, Name: "right", Start: at, End: at, Status: trace.StatusOK,
		Reward: &trace.Reward{Digest: digest, Outcome: "scored", Score: &score},
	}
}

func config(t *testing.T, overrides ...string) *merit.Config {
	cfg, err := merit.ParseConfig("test.yaml", []byte(`
traces: {query: agent=painter}
rollout: {groups: 60, members: 4}
policy: {hidden: [], ngrams: {unit: words, max: 1, dimensions: 256}}
ppo: {advantage_scale: rms, learning_rate: 0.05}
train: {iterations: 25, evaluate_every: 5}
`), ".", overrides...)
	require.NoError(t, err)
	return cfg
}

func learn(t *testing.T, s *store.Store, cfg *merit.Config, o merit.TrainOptions, opts ...merit.Option) (*run.Summary, error) {
	return learnUntil(t.Context(), s, cfg, o, opts...)
}

func learnUntil(ctx context.Context, s *store.Store, cfg *merit.Config, o merit.TrainOptions, opts ...merit.Option) (*run.Summary, error) {
	options := learning.Options{Traces: s, Now: now}
	if o.Resume {
		options.Resume = o.Dir
	}
	session, err := learning.Open(ctx, cfg, options, opts...)
	if err != nil {
		return nil, err
	}
	defer session.Close()
	return session.Train(ctx, o)
}

// stopAt ends a run with an iteration.
type stopAt struct {
	train.Quiet
	iteration int
	stop      func()
}

func (s stopAt) Iterated(it run.Iteration, _ int) {
	if it.Iteration == s.iteration {
		s.stop()
	}
}

// Promise: a policy that is so different from the one that was recorded that the traces
// are worth fewer episodes than the minimum is not measured, and the summary says why
// instead of giving it a number.
func TestTooFewEffectiveEpisodes(t *testing.T) {
	testneeds.NotShort(t)
	dir := filepath.Join(t.TempDir(), "run")
	summary, err := learn(t, recordings(t, 90, 4, true), config(t, "traces.min_effective=60"), merit.TrainOptions{Dir: dir})
	require.NoError(t, err)
	require.Zero(t, summary.Trained.Episodes)
	require.Equal(t, 1.0, summary.PValue)
	require.Regexp(t, `^none: the recorded decisions differ too much from the policy's: they are worth [0-9.]+ episodes of it, fewer than traces.min_effective \(60\)$`, summary.Test)
}

// Promise: a policy learns from what another one did, by either method, beats it
// on tasks that nothing was learnt from, and does so when it plays, too.
func TestLearnsFromTraces(t *testing.T) {
	testneeds.NotShort(t)
	for _, method := range []string{"importance", "clone"} {
		t.Run(method, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "run")
			s := recordings(t, 360, 4, method == "importance")
			summary, err := learn(t, s, config(t, "traces.method="+method), merit.TrainOptions{Dir: dir})
			require.NoError(t, err)
			require.Less(t, summary.Baseline.SuccessInterval[1], summary.Trained.SuccessInterval[0], "%+v", summary)
			require.Less(t, summary.PValue, 0.01)

			p, err := learning.Play(t.Context(), dir)
			require.NoError(t, err)
			defer p.Close()
			for i, thing := range []string{"sky", "leaf", "rose", "sea", "frog", "brick"} {
				a, err := p.Answer(t.Context(), learning.Call{Greedy: true, Messages: []rl.Message{
					{Role: rl.RoleUser, Content: rl.Text(fmt.Sprintf("thing %d looks like %s", 1000+i, thing))},
				}})
				require.NoError(t, err)
				require.Equal(t, colors[i%3], a.Text, thing)
			}
		})
	}
}

// Promise: a run from traces that was stopped ends with the same bytes as one
// that was not, verify finds nothing in it, and its manifest says what was
// learnt from and how old it is.
func TestARunFromTracesResumesAndVerifies(t *testing.T) {
	testneeds.NotShort(t)
	s := recordings(t, 60, 4, true)
	whole, again := filepath.Join(t.TempDir(), "whole"), filepath.Join(t.TempDir(), "again")
	_, err := learn(t, s, config(t, "train.iterations=6"), merit.TrainOptions{Dir: whole})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	_, err = learnUntil(ctx, s, config(t, "train.iterations=6"), merit.TrainOptions{Dir: again}, merit.WithProgress(stopAt{iteration: 3, stop: cancel}))
	require.ErrorIs(t, err, fault.Of("", fault.Interrupted))
	_, err = learn(t, s, config(t, "train.iterations=6", "rollout.parallel=1"), merit.TrainOptions{Dir: again, Resume: true})
	require.NoError(t, err)
	for _, file := range []string{run.TracesFile, run.StartsFile, "trajectories/train.jsonl.zst", "trajectories/test-baseline.jsonl.zst", "checkpoints/best", "checkpoints/last"} {
		require.Equal(t, read(t, whole, file), read(t, again, file), file)
	}
	require.Equal(t, metrics(t, whole), metrics(t, again))

	m, err := run.ReadManifest(whole)
	require.NoError(t, err)
	require.Equal(t, 240, m.Traces.Traces)
	require.Equal(t, 240, m.Traces.Learnt)
	require.InDelta(t, 3, m.Traces.AgeDays, 0.01)
	lines, err := run.ReadTraces(whole)
	require.NoError(t, err)
	require.Len(t, lines, 240)

	report, err := verify.Run(t.Context(), whole, verify.Options{})
	require.NoError(t, err)
	require.Empty(t, report.Findings)
	n := 0
	for _, f := range report.Files {
		n += f.Advantages
	}
	require.Positive(t, n, "whole groups are computed again")
}

// Promise: a run of an earlier version, whose manifest does not say that tasks with equal
// inputs share a split, resumes with the splits that it began with.
func TestEarlierRunsKeepTheirSplits(t *testing.T) {
	testneeds.NotShort(t)
	s := recordings(t, 60, 4, true)
	var spans []trace.Span
	var about []trace.About
	require.NoError(t, s.Each(t.Context(), trace.Query{}, func(x *trace.Trace) error {
		for _, span := range x.All {
			span.Trace, span.Start, span.End = "copy-of-"+x.ID, span.Start.Add(time.Hour), span.End.Add(time.Hour)
			spans = append(spans, span)
		}
		about = append(about, trace.About{Trace: "copy-of-" + x.ID, Task: "copy of " + x.Task, Status: trace.StatusOK})
		return nil
	}))
	require.NoError(t, s.Put(t.Context(), spans, about))

	whole, earlier := filepath.Join(t.TempDir(), "whole"), filepath.Join(t.TempDir(), "earlier")
	_, err := learn(t, s, config(t, "train.iterations=6", "traces.split_by=task"), merit.TrainOptions{Dir: whole})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	_, err = learnUntil(ctx, s, config(t, "train.iterations=6", "traces.split_by=task"), merit.TrainOptions{Dir: earlier}, merit.WithProgress(stopAt{iteration: 3, stop: cancel}))
	require.ErrorIs(t, err, fault.Of("", fault.Interrupted))
	for file, key := range map[string]string{run.ManifestFile: `"split_by": "task",`, run.ConfigFile: "split_by: task"} {
		text := read(t, earlier, file)
		require.Contains(t, string(text), key)
		require.NoError(t, os.WriteFile(filepath.Join(earlier, file), []byte(strings.Replace(string(text), key, "", 1)), 0o600))
	}
	_, err = learn(t, s, config(t, "train.iterations=6"), merit.TrainOptions{Dir: earlier, Resume: true})
	require.NoError(t, err)
	for _, file := range []string{run.TracesFile, "trajectories/train.jsonl.zst", "checkpoints/best", "checkpoints/last"} {
		require.Equal(t, read(t, whole, file), read(t, earlier, file), file)
	}

	// By content, the copies are where the originals are, and the test asks for nothing that was trained on.
	together := filepath.Join(t.TempDir(), "together")
	summary, err := learn(t, s, config(t, "train.iterations=1"), merit.TrainOptions{Dir: together})
	require.NoError(t, err)
	require.False(t, summary.Starts.Seen())
	m, err := run.ReadManifest(together)
	require.NoError(t, err)
	require.Equal(t, []any{"content", 60}, []any{m.Traces.SplitBy, m.Traces.Joined})
	apart, err := run.ReadSummary(whole)
	require.NoError(t, err)
	require.True(t, apart.Starts.Seen(), "by the name alone, there is a leak")
}

// Promise: a run does not resume with other traces than it began with, and says
// which they are.
func TestOtherTraces(t *testing.T) {
	s := recordings(t, 60, 2, true)
	dir := filepath.Join(t.TempDir(), "run")
	_, err := learn(t, s, config(t, "train.iterations=1"), merit.TrainOptions{Dir: dir})
	require.NoError(t, err)
	require.NoError(t, s.Put(t.Context(), []trace.Span{rewardSpan("trace-7-1", "again", "sha256:other", began.Add(time.Hour), 0.25)}, nil))
	_, err = learn(t, s, config(t, "train.iterations=2"), merit.TrainOptions{Dir: dir, Resume: true})
	require.ErrorIs(t, err, fault.Of(fault.Storage, fault.Differs))
	require.ErrorContains(t, err, "trace-7-1 changed")
}

// Promise: what keeps a policy from learning is said before anything is written,
// with the way out.
func TestWhatCannotBeLearnt(t *testing.T) {
	testneeds.NotShort(t)
	blind, alone := recordings(t, 60, 2, false), recordings(t, 60, 1, true)
	for _, c := range []struct {
		store *store.Store
		set   []string
		want  string
	}{
		{blind, nil, "120 of 120 calls were recorded without log-probabilities"},
		{blind, []string{"traces.query=agent=nobody"}, `no traces match "agent=nobody"`},
		{blind, []string{"traces.query=agnt=x"}, `"agnt" is not a query key`},
		{blind, []string{"traces.choices=[yes, no]"}, "the policy cannot learn from any of the 120 answered calls: no choice (120)"},
		{blind, []string{"traces.agents=[planner]", "traces.choices=[red, blue, green]"}, "another agent (120)"},
		{alone, nil, "lightning compares the traces of a task with each other, but every task has only one"},
	} {
		dir := filepath.Join(t.TempDir(), "run")
		_, err := learn(t, c.store, config(t, c.set...), merit.TrainOptions{Dir: dir})
		require.ErrorContains(t, err, c.want)
		require.NotEmpty(t, fault.As(err).Hint)
		require.NoDirExists(t, dir)
	}
}

func read(t *testing.T, dir, file string) []byte {
	data, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(file)))
	require.NoError(t, err)
	return data
}

func metrics(t *testing.T, dir string) []run.Iteration {
	all, err := run.ReadMetrics(dir)
	require.NoError(t, err)
	for i := range all {
		all[i].Time = run.Time{}
	}
	return all
}
