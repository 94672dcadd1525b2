package sweep_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/internal/sweep"
	"github.com/merit-rl/merit/internal/sweep/sweeppage"
)

const text = `seeds: 2
set: [train.iterations=4, train.evaluate_every=2, train.validation_episodes=16, train.test_episodes=16, rollout.groups=4, rollout.members=4]
tasks:
  - {name: long, title: A long one, config: base.yaml}
  - {name: short, config: base.yaml, set: [train.iterations=2]}
settings:
  - {name: gigpo}
  - {name: grpo, set: [advantage.estimator=grpo], tasks: [long], seeds: 1}
`

// write writes the study and its configuration into a folder.
func write(t *testing.T, study string) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "base.yaml"), []byte("ppo: {learning_rate: 5e-3}\n"), 0o600))
	path := filepath.Join(dir, "small.yaml")
	require.NoError(t, os.WriteFile(path, []byte(study), 0o600))
	return path
}

// Promise: what a study does not say follows from the rest, and its plan goes
// seed by seed with the overrides of study, task and setting over the
// configuration, in this order.
func TestPlan(t *testing.T) {
	s, err := sweep.Load(write(t, text))
	require.NoError(t, err)
	require.Equal(t, "small", s.Title)
	require.Equal(t, []sweep.Panel{{Name: "all", Title: "small", Settings: []string{"gigpo", "grpo"}, Tasks: []string{"long", "short"}, Against: "gigpo", Measure: sweep.Success}}, s.Panels)
	plan, err := s.Plan("ppo.entropy=0.5")
	require.NoError(t, err)
	var names []string
	for _, r := range plan {
		names = append(names, filepath.ToSlash(r.Name()))
		require.Equal(t, uint64(r.Seed), r.Config.Seed)
		require.InDelta(t, 0.5, r.Config.PPO.Entropy, 0)
		require.InDelta(t, 5e-3, r.Config.PPO.LearningRate, 0)
	}
	require.Equal(t, []string{"runs/long/gigpo/seed-1", "runs/long/grpo/seed-1", "runs/short/gigpo/seed-1", "runs/long/gigpo/seed-2", "runs/short/gigpo/seed-2"}, names)
	require.Equal(t, "grpo", plan[1].Config.Advantage.Estimator)
	require.Equal(t, 2, plan[2].Config.Train.Iterations)
}

// Promise: the studies that are shown are in order, with each configuration that they
// make, and their pages can be written before the first run.
func TestExampleStudies(t *testing.T) {
	for name, runs := range map[string]int{"gigpo": 3*8*10 + 9*5, "batch": 2 * 4 * 10, "sampling": 4 * 5, "tuned": (5*7 + 4) * 10} {
		s, err := sweep.Load(filepath.Join(testneeds.Root(), "examples/study", name+".yaml"))
		require.NoError(t, err)
		_, err = s.Tuning()
		require.NoError(t, err)
		plan, err := s.Plan()
		require.NoError(t, err)
		require.Len(t, plan, runs)
		require.NoError(t, sweeppage.Write(filepath.Join(t.TempDir(), "page.md"), s.Page, must(sweep.Read(s, plan, t.TempDir()))))
	}
}

func must[T any](x T, err error) T {
	if err != nil {
		panic(err)
	}
	return x
}

// Promise: all that is wrong with a study is said at once, each problem once.
func TestLoadSaysEverything(t *testing.T) {
	_, err := sweep.Load(write(t, "seeds: 0\ntasks: [{name: A/B}]\nsettings: [{name: x, tasks: [y]}]\npanels: [{name: p, measure: luck, against: z}]\n"))
	for _, problem := range []string{"small.yaml:1: seeds: 0", "tasks[0].name: \"A/B\"", "tasks[0].config", "settings[0].tasks[0]: \"y\"", "panels[0].measure: \"luck\"", "panels[0].against: \"z\""} {
		require.ErrorContains(t, err, problem)
	}
	_, err = sweep.Load("none.yaml")
	require.ErrorIs(t, err, fault.Of(fault.Config, fault.Missing))

	s, err := sweep.Load(write(t, text))
	require.NoError(t, err)
	_, err = s.Plan("ppo.entropi=1")
	require.EqualError(t, err, "--set ppo.entropi=1: ppo.entropi: unknown key")
}

// Promise: a budget beyond the steps of a run is refused, once a task; what a
// table said there would be of an earlier place.
func TestBudgetBeyondRun(t *testing.T) {
	s, err := sweep.Load(write(t, "tasks: [{name: a, config: base.yaml, budgets: [100, 300]}]\nsettings: [{name: x}, {name: y}]\nseeds: 2\n"))
	require.NoError(t, err)
	_, err = s.Plan("train.env_steps=200")
	require.EqualError(t, err, "task a: budgets: 300 steps exceed train.env_steps, 200")
	require.ErrorIs(t, err, fault.Of(fault.Config, fault.Invalid))
	for _, enough := range []string{"train.env_steps=300", "train.env_steps=0"} {
		_, err = s.Plan(enough)
		require.NoError(t, err)
	}
}

// Promise: every setting has the same choices, on seeds that no result uses and for a share
// of the budget; what a choice sets comes after what the setting sets.
func TestTuningPlan(t *testing.T) {
	s, err := sweep.Load(write(t, text+"tune: {seeds: 2, share: 0.5, set: [train.test_episodes=8], choices: [{name: low}, {name: high, set: [ppo.learning_rate=1e-2]}]}\n"))
	require.NoError(t, err)
	plan, err := s.Tuning()
	require.NoError(t, err)
	require.Len(t, plan, 2*2*3, "seeds × choices × settings on tasks")
	for i, r := range plan {
		require.Equal(t, 1001+i/6, r.Seed)
		require.Equal(t, uint64(r.Seed), r.Config.Seed)
		require.Equal(t, map[string]int{"long": 2, "short": 1}[r.Task], r.Config.Train.Iterations)
		require.Equal(t, 8, r.Config.Train.TestEpisodes)
		require.InDelta(t, map[string]float64{"low": 5e-3, "high": 1e-2}[r.Choice], r.Config.PPO.LearningRate, 0)
	}
	require.Equal(t, "tuning/long/gigpo/high/seed-1001", filepath.ToSlash(plan[1].Name()))
	require.Equal(t, "long gigpo high 1001", plan[1].Label())
	_, err = s.Choose(plan, t.TempDir())
	require.ErrorContains(t, err, "12 of 12 tuning runs are not finished")
	require.ErrorIs(t, err, fault.Of(fault.Storage, fault.Missing))

	_, err = sweep.Load(write(t, text+"tune: {seeds: 0, share: 2, measure: luck, choices: [{name: a/b}]}\n"))
	for _, problem := range []string{"tune.seeds: 0", "tune.share: 2", `tune.measure: "luck"`, "tune.choices[0].name"} {
		require.ErrorContains(t, err, problem)
	}
	_, err = sweep.Load(write(t, "seeds: 1001\ntasks: [{name: a, config: base.yaml}]\nsettings: [{name: x}]\ntune: {seeds: 1, share: 1, choices: [{name: a}]}\n"))
	require.ErrorContains(t, err, "seeds: 1001 is not allowed")
}
