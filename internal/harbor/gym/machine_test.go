package gym_test

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/env"
	"github.com/merit-rl/merit/internal/base/box"
	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/internal/contracts/envcontract"
	"github.com/merit-rl/merit/internal/harbor/gym"
	"github.com/merit-rl/merit/internal/harbor/task"
	"github.com/merit-rl/merit/internal/harbor/trial"
	"github.com/merit-rl/merit/sandbox"
	"github.com/merit-rl/merit/sandbox/interpreter"
)

// example is the task that the pages show.
var example = filepath.Join(testneeds.Root(), "examples", "harbor", "log-report")

func machines(t *testing.T) box.Maker {
	testneeds.Slow(t, "starts CPython and the userland")
	folder := interpreter.Folder()
	testneeds.File(t, "run: make interpreter", interpreter.Python().Userland().Path(folder))
	c := sandbox.DefaultConfig()
	c.CacheDir = filepath.Join(filepath.Dir(folder), "test")
	m, err := c.OpenBoxes(t.Context())
	require.NoError(t, err)
	t.Cleanup(m.Close)
	return m
}

// Promise: on machines, too, the environment keeps the contract of all environments, except
// that a single task ignores the seed.
func TestContractOnMachines(t *testing.T) {
	m := machines(t)
	o := gym.DefaultOptions()
	o.MaxSteps = 3
	w, err := gym.Load(t.Context(), m, example, o)
	require.NoError(t, err)
	defer w.Close()
	open := func(context.Context) (env.Env, error) { return w.Open("train", 2) }
	results, err := envcontract.Run(t.Context(), open, envcontract.Options{Texts: []string{bash("head -2 access.log"), bash("date; python3 -c 'print(6 * 7)'"), "Done."}})
	require.NoError(t, err)
	for _, r := range results {
		if r.Err != nil {
			require.ErrorContains(t, r.Err, "ignore the seed", r.Promise)
		}
	}
}

// Promise: a thousand trials are alive at one time, each in its own state, and one starts and
// runs a command in less than 5 ms.
func TestThousandTrials(t *testing.T) {
	m := machines(t)
	tk, err := task.Load(example)
	require.NoError(t, err)
	p, err := trial.Prepare(t.Context(), m, tk)
	require.NoError(t, err)
	defer p.Close()
	const n = 1000
	scenes, took := make([]*trial.Scene, n), make([]time.Duration, n)
	began := time.Now()
	each(n, func(k int) {
		at := time.Now()
		s, err := p.Begin(t.Context())
		if err == nil {
			_ = s.Run(t.Context(), fmt.Sprintf("echo %d > me", k))
		}
		scenes[k], took[k] = s, time.Since(at)
	})
	started := time.Since(began)
	each(n, func(k int) {
		if r := scenes[k].Run(t.Context(), "cat me; wc -l < access.log"); string(r.Output) != fmt.Sprintf("%d\n401\n", k) {
			t.Errorf("trial %d: %s%s", k, r.Output, r.Errors)
		}
	})
	for _, s := range scenes {
		require.NoError(t, s.Close())
	}
	slices.Sort(took)
	t.Logf("1,000 trials: started with a command in %v, median %v, 99th percentile %v, all ran another command %v later", started, took[n/2], took[n*99/100], time.Since(began)-started)
	require.Less(t, took[n/2], 5*time.Millisecond)
}

// each does n things in two goroutines.
func each(n int, do func(k int)) {
	var wg sync.WaitGroup
	for half := range 2 {
		wg.Go(func() {
			for k := half; k < n; k += 2 {
				do(k)
			}
		})
	}
	wg.Wait()
}

// Promise: the example's solution gets everything, another agent nothing, and two runs are the
// same to the byte and the unit of fuel.
func TestExample(t *testing.T) {
	m := machines(t)
	tk, err := task.Load(example)
	require.NoError(t, err)
	p, err := trial.Prepare(t.Context(), m, tk)
	require.NoError(t, err)
	defer p.Close()
	for agent, want := range map[string]float64{trial.Oracle: 1, trial.Nop: 0} {
		one, err := p.Run(t.Context(), agent, time.Now)
		require.NoError(t, err)
		two, err := p.Run(t.Context(), agent, time.Now)
		require.NoError(t, err)
		require.Equal(t, map[string]float64{"reward": want, "report": want, "deleted": want}, one.Rewards)
		require.Equal(t, []any{one.Digest, one.Fuel}, []any{two.Digest, two.Fuel})
	}
}
