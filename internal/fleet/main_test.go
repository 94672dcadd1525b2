package fleet_test

import (
	"bytes"
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
	"time"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/run"
	"github.com/merit-rl/merit/core/train"
	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/internal/fleet"
	"github.com/merit-rl/merit/internal/fleet/queue"
	"github.com/merit-rl/merit/sdk/merit"
	_ "github.com/merit-rl/merit/sdk/merit/standard"
)

// The tests run like a user in a folder with built plug-ins.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[2] == "worker" {
		work(os.Args[3:])
		return
	}
	dir, err := os.MkdirTemp("", "merit-fleets-")
	if err == nil && !testneeds.Short() {
		err = build(dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// hasty are short timings that tests use for coordinator and workers. A worker process uses
// them if the variable is set.
var hasty = queue.Timings{AckWait: 3 * time.Second, Beat: 500 * time.Millisecond, Watch: 2 * time.Second}

const hastyVariable = "MERIT_TEST_HASTY"

// doomedVariable is set for a worker process that kills itself when it receives a shard.
const doomedVariable = "MERIT_TEST_DOOMED"

// dieBusy kills this process as soon as it computes a shard.
func dieBusy(w queue.Worker) {
	if w.Busy == 0 {
		return
	}
	if self, err := os.FindProcess(os.Getpid()); err == nil {
		_ = self.Kill()
	}
	select {}
}

// work runs a worker process, like merit fleet worker, started by a coordinator.
func work(args []string) {
	o := fleet.WorkOptions{}
	f := flag.NewFlagSet("worker", flag.ExitOnError)
	f.StringVar(&o.Join, "join", "", "")
	f.StringVar(&o.Name, "name", "", "")
	f.IntVar(&o.Slots, "slots", 1, "")
	f.String("allow-plugin", "", "")
	f.Bool("with-parent", false, "")
	f.Func("pass-env", "", func(names string) error { o.Variables = strings.Split(names, ","); return nil })
	f.Bool("quiet", false, "")
	_ = f.Parse(args) // it exits
	if os.Getenv(hastyVariable) != "" {
		o.Timings = hasty
	}
	if o.Name != "" && o.Name == os.Getenv(doomedVariable) {
		o.OnState = dieBusy
	}
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

func build(dir string) error {
	for _, name := range []string{"sokoban", "rubric", "mcp"} {
		cmd := exec.Command("go", "build", "-o", filepath.Join(dir, "bin/plugins", name), "./plugins/"+name)
		cmd.Dir = testneeds.Root()
		if text, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w\n%s", name, err, text)
		}
	}
	return os.Chdir(dir)
}

// sokoban is a very short run. Tests change its keys.
const sokoban = `
seed: 3
environment: {plugin: sokoban, slots: 16, options: {size: 6, boxes: 1, walls: [0, 2], optimum: [1, 6], max_steps: 12}}
rewards: [{environment: true}]
rollout: {groups: 12, members: 4, parallel: 2}
advantage: {estimator: gigpo, gamma: 0.95, normalization: mean_norm}
policy: {hidden: [16]}
ppo: {minibatch: 64, learning_rate: 0.01}
train: {iterations: 3, evaluate_every: 2, validation_episodes: 20, test_episodes: 30, checkpoint_every: 1}
save: {every: 1}
`

func config(t testing.TB, text string, overrides ...string) *merit.Config {
	t.Helper()
	cfg, err := merit.ParseConfig("train.yaml", []byte(text), ".", overrides...)
	require.NoError(t, err)
	return cfg
}

func open(t testing.TB, cfg *merit.Config, opts ...merit.Option) *merit.Session {
	t.Helper()
	s, err := merit.Open(t.Context(), cfg, opts...)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

// local is a fleet in this process with an executor.
func local(t testing.TB, parallel int, change func(queue.Handler) queue.Handler) queue.Fleet {
	t.Helper()
	executor := fleet.NewExecutor(fleet.ExecutorOptions{Dir: t.TempDir()})
	handlers := executor.Handlers()
	if change != nil {
		for kind, h := range handlers {
			handlers[kind] = change(h)
		}
	}
	f := queue.Local(parallel, handlers)
	t.Cleanup(func() {
		require.NoError(t, f.Close())
		require.NoError(t, executor.Close())
	})
	return f
}

// play trains with f, or without a fleet, and returns the files of the run.
func play(ctx context.Context, t testing.TB, s *merit.Session, f queue.Fleet, o merit.TrainOptions) (map[string]string, error) {
	t.Helper()
	if o.Dir == "" {
		o.Dir = filepath.Join(t.TempDir(), "run")
	}
	if f != nil {
		c, err := fleet.NewCoordinator(f, s, fleet.CoordinatorOptions{})
		require.NoError(t, err)
		o.OpenPlayer = c.OpenPlayer
	}
	if _, err := s.Train(ctx, o); err != nil {
		return nil, err
	}
	return filesOf(t, o.Dir), nil
}

// filesOf returns every file of a run without wall-clock times.
func filesOf(t testing.TB, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	require.NoError(t, filepath.WalkDir(dir, func(file string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(file)
		name := strings.TrimPrefix(file, dir+"/")
		switch name {
		case run.ReportFile, run.DigestsFile: // times are in them
			data = []byte("present")
		case run.MetricsFile, run.SummaryFile, run.ManifestFile:
			data = timeless(t, data)
		}
		files[name] = string(data)
		return err
	}))
	require.Greater(t, len(files), 6)
	return files
}

// timeless removes wall-clock times from JSON documents or JSON lines.
func timeless(t testing.TB, data []byte) []byte {
	var out bytes.Buffer
	for d := json.NewDecoder(bytes.NewReader(data)); d.More(); {
		var object map[string]json.RawMessage
		require.NoError(t, d.Decode(&object))
		for _, key := range []string{"time", "started", "resumed", "repeated", "changes", "files", "digest"} {
			delete(object, key)
		}
		require.NoError(t, json.NewEncoder(&out).Encode(object))
	}
	return out.Bytes()
}

// stopAfter stops a run after a number of recorded iterations.
type stopAfter struct {
	train.Quiet
	iterations int
	stop       func()
}

func (s *stopAfter) Iterated(it run.Iteration, _ int) {
	if it.Iteration == s.iterations {
		s.stop()
	}
}
