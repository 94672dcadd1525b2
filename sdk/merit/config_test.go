package merit_test

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/config"
	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/sdk/merit"
)

var update = flag.Bool("update", false, "write the golden files anew")

// Promise: a wrong file gives every problem at once, each with file, line,
// key and what to do; the words are held by golden files.
func TestEveryProblemAtOnce(t *testing.T) {
	files, err := filepath.Glob("testdata/bad/*.yaml")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			_, err := merit.LoadConfig(file)
			compare(t, strings.TrimSuffix(file, ".yaml")+".txt", problems(t, err))
		})
	}
}

// Promise: overrides are as strict as the file and say which one is wrong.
func TestBadOverrides(t *testing.T) {
	_, err := merit.LoadConfig("testdata/good.yaml",
		"rollout.grups=3", "rollout.groups=x", "rewards.2.weight=1", "nonsense", "rollout=3", "ppo.clip_low=7", "seed=[1", "environment.slots=\n3",
	)
	compare(t, "testdata/overrides.txt", problems(t, err))
}

func problems(t *testing.T, err error) string {
	t.Helper()
	require.Error(t, err)
	var b strings.Builder
	for _, e := range err.(interface{ Unwrap() []error }).Unwrap() {
		var f *fault.Error
		require.True(t, errors.As(e, &f), "%v is not a fault", e)
		require.Equal(t, fault.Config, f.Boundary)
		require.NotEmpty(t, f.Hint, "%v has no hint", e)
		fmt.Fprintf(&b, "%v\n  hint: %s\n", f, f.Hint)
	}
	return b.String()
}

func compare(t *testing.T, golden, got string) {
	t.Helper()
	if *update {
		require.NoError(t, os.WriteFile(golden, []byte(got), 0o644))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	require.Equal(t, string(want), got)
}

// Promise: what a file does not say keeps its default, also inside lists and
// empty sections; paths are relative to the file.
func TestLoad(t *testing.T) {
	f, err := merit.LoadConfig("testdata/good.yaml")
	require.NoError(t, err)
	d := merit.DefaultConfig()
	require.EqualValues(t, 7, f.Seed)
	require.Equal(t, 16, f.Rollout.Groups)
	require.Equal(t, d.Rollout.Members, f.Rollout.Members)
	require.Equal(t, 5*time.Second, f.Rollout.StepDeadline)
	require.Equal(t, 5e-3, f.PPO.LearningRate)
	require.Equal(t, d.Train, f.Train)
	require.Equal(t, []merit.Reward{
		{Module: filepath.Join("testdata", "reward.wasm"), Weight: 1},
		{Module: filepath.Join("testdata", "reward.wasm"), Weight: 0.5, Name: "shaping"},
	}, f.Rewards)
	h, err := f.Environment.Host("test")
	require.NoError(t, err)
	require.Equal(t, "test", h.Split)
	require.JSONEq(t, `{"size":6,"boxes":1,"levels":{"train":10}}`, string(h.Options))
	require.Equal(t, 16, f.Settings().Rollout.Groups)
}

// Promise: the configurations of the examples are valid. Sokoban's reward is
// compiled by make, so another reward replaces it.
func TestExamplesLoad(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join(testneeds.Root(), "examples", "*", "*.yaml"))
	require.NoError(t, err)
	models, err := filepath.Glob(filepath.Join(testneeds.Root(), "examples", "*", "lm", "*.yaml"))
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(paths), 4)
	paths = append(paths, models...)
	for _, path := range paths {
		var overrides []string
		switch filepath.Base(filepath.Dir(path)) {
		case "sokoban":
			overrides = []string{"rewards.0.module=testdata/reward.wasm"}
		case "serving", "trainers", "study", "apo", "council", "fleet": // of other verbs, whose tests load them; verl's, Compose's
			continue
		}
		load := merit.LoadConfig
		if filepath.Base(path) == "eval.yaml" { // for merit eval, which plays nothing
			load = merit.LoadPartial
		}
		_, err := load(path, overrides...)
		require.NoError(t, err)
	}
}

// Promise: an override reaches any key, in sections, lists and a plug-in's
// options, and leaves its neighbours alone.
func TestOverrides(t *testing.T) {
	f, err := merit.LoadConfig("testdata/good.yaml",
		"rollout.groups=8", "rewards.1.weight=2", "environment.options.levels.test=5", "environment.options.size=7",
		"policy.hidden=[32, 32]", "train.iterations=3", "sandbox.wall_clock=1m", "environment.plugin=other", "ppo.schedule.kind=linear",
	)
	require.NoError(t, err)
	require.Equal(t, 8, f.Rollout.Groups)
	require.Equal(t, 5*time.Second, f.Rollout.StepDeadline)
	require.Equal(t, 2.0, f.Rewards[1].Weight)
	require.Equal(t, "shaping", f.Rewards[1].Name)
	require.Equal(t, []int{32, 32}, f.Policy.Hidden)
	require.Equal(t, time.Minute, f.Sandbox.WallClock)
	require.EqualValues(t, "linear", f.PPO.Schedule.Kind)
	h, err := f.Environment.Host("train")
	require.NoError(t, err)
	require.JSONEq(t, `{"size":7,"boxes":1,"levels":{"train":10,"test":5}}`, string(h.Options))
}

// Promise: the resolved file, written to the run directory, loads to the same
// settings, and names files relative to itself.
func TestResolvedFileLoadsToTheSame(t *testing.T) {
	f, err := merit.LoadConfig("testdata/good.yaml",
		"environment.plugin=./testdata/reward.wasm", "environment.options.files={train: ./testdata/a, test: [../b, text]}",
	)
	require.NoError(t, err)
	dir, err := os.MkdirTemp("testdata", "run")
	require.NoError(t, err)
	defer os.RemoveAll(dir)
	text, err := f.Marshal(dir)
	require.NoError(t, err)
	require.Contains(t, string(text), "module: ../reward.wasm")
	require.Contains(t, string(text), "train: ../a\n")
	require.Contains(t, string(text), "- ../../../b\n")
	path := filepath.Join(dir, "config.yaml")
	require.NoError(t, os.WriteFile(path, text, 0o644))
	g, err := merit.LoadConfig(path)
	require.NoError(t, err)
	require.Empty(t, f.Differences(g))
	g.Rollout.Groups, g.Train.Iterations = 99, 98
	require.Equal(t, []string{"rollout.groups", "train.iterations"}, f.Differences(g))
	require.EqualError(t, f.CheckResume(g), "rollout.groups: changed since the run began")
	g.Rollout.Groups, g.Rollout.Parallel = f.Rollout.Groups, 8
	require.NoError(t, f.CheckResume(g), "more iterations and other processors are welcome")
}

// Promise: these keys, and no others, may change when a run is resumed.
func TestWhatAResumeMayChange(t *testing.T) {
	require.ElementsMatch(t, []string{
		"train.iterations", "train.keep.every", "train.keep.last", "rollout.parallel", "rollout.step_deadline", "rollout.episode_deadline", "sandbox.workers", "sandbox.cache_dir",
		"sandbox.cache_mib", "sandbox.wall_clock", "sandbox.start_wall_clock", "environment.start_timeout", "environment.batch_deadline", "environment.reset_deadline",
		"rollout.in_flight", "rollout.restarts.most", "rollout.restarts.within", "policy.restarts.most", "policy.restarts.within",
		"monitor.on_alarm", "monitor.off",
		"environment.pass_env", "environment.limits.memory", "environment.limits.files", "environment.limits.cpu", "environment.limits.cpu_time", "environment.limits.output",
		"policy.limits.memory", "policy.limits.files", "policy.limits.cpu", "policy.limits.cpu_time", "policy.limits.output",
		"policy.pass_env", "policy.start_timeout", "policy.configure_timeout", "policy.learn_timeout", "train.restarts", "train.stop.flags", "train.expect",
		"evidence.metric", "evidence.lower", "evidence.promote", "evidence.iterate", "evidence.significance",
		"prices.currency", "prices.models",
		"fleet.groups", "fleet.label", "fleet.verify", "fleet.patience", "fleet.replicas", "fleet.listen", "fleet.key", "fleet.ca", "fleet.cert", "fleet.cert_key", "fleet.users",
		"policy.options.url", "policy.options.key_env",
		"policy.options.concurrency", "policy.options.patience", "policy.options.queue",
	}, config.Free(merit.DefaultConfig()))
}

// Promise: a file that is not there, and one that is too large, are clear
// errors.
func TestUnreadable(t *testing.T) {
	_, err := merit.LoadConfig("testdata/none.yaml")
	require.ErrorIs(t, err, fault.Of(fault.Config, fault.Missing))
	big := filepath.Join(t.TempDir(), "big.yaml")
	require.NoError(t, os.WriteFile(big, make([]byte, 5<<20), 0o644))
	_, err = merit.LoadConfig(big)
	require.ErrorIs(t, err, fault.Of(fault.Config, fault.Invalid))
}

// FuzzParse: no bytes make the reader panic.
func FuzzParse(f *testing.F) {
	files, _ := filepath.Glob("testdata/bad/*.yaml")
	for _, file := range append(files, "testdata/good.yaml") {
		data, err := os.ReadFile(file)
		require.NoError(f, err)
		f.Add(data, "rollout.groups=3")
	}
	f.Fuzz(func(t *testing.T, data []byte, override string) {
		_, _ = merit.ParseConfig("fuzz.yaml", data, ".", override)
	})
}

// Promise: a problem that is found after the file was read has the place of its
// key, or of the section around it; problems are reported once, and in order.
func TestPlaces(t *testing.T) {
	f, _ := merit.ParseConfig("run.yaml", []byte("seed: 1\nenvironment:\n  plugin: maze\n  options:\n    size: 4\n    walls: {least: 1}\n"), ".",
		"environment.options.doors=7")
	for path, want := range map[string]string{
		"environment.options.size":        "run.yaml:5: environment.options.size",
		"environment.options.walls.least": "run.yaml:6: environment.options.walls.least",
		"environment.options.walls.most":  "run.yaml:6: environment.options.walls.most",
		"environment.options.doors":       "--set environment.options.doors=7: environment.options.doors",
		"environment.options.colour":      "run.yaml:4: environment.options.colour",
		"rewards[0].module":               "run.yaml: rewards[0].module",
	} {
		require.Equal(t, want, f.Places.Of(path))
	}
	problem := func(at string) error {
		return &fault.Error{Boundary: fault.Config, Kind: fault.Invalid, Where: at, What: "is wrong", Hint: "correct it"}
	}
	err := f.Places.Explain("environment", errors.Join(
		io.EOF, problem("options.walls.least"), errors.Join(problem("options.size"), problem("options.walls.least"))))
	require.EqualError(t, err, "run.yaml:5: environment.options.size: is wrong\nrun.yaml:6: environment.options.walls.least: is wrong\nEOF")
	require.Equal(t, "correct it", fault.As(err).Hint)
	require.NoError(t, f.Places.Explain("environment", nil))
}
