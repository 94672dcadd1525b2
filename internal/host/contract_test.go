package host_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/env"
	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/internal/contracts/envtest"
	"github.com/merit-rl/merit/internal/host"
)

// Promise: Sokoban keeps the contract of env.Env across a process and a socket.
func TestContract(t *testing.T) {
	envtest.Run(t, func(t testing.TB) env.Env { return open(t, sokoban(t, 5)) })
}

// Promise: so do the other environments in Go that Merit ships and that need no other
// program.
func TestShippedContracts(t *testing.T) {
	testneeds.Slow(t, "checks the contract of every plug-in")
	for name, options := range map[string]string{
		"frozenlake": `{"size": [4, 6]}`,
		"2048":       `{"max_steps": 60}`,
		"grid":       `{}`,
		"htdag":      `{}`,
	} {
		t.Run(name, func(t *testing.T) {
			cfg := sokoban(t, 5)
			cfg.Path, cfg.Options = build(t, "./plugins/"+name), json.RawMessage(options)
			envtest.Run(t, func(t testing.TB) env.Env { return open(t, cfg) })
		})
	}
}

// Promise: an environment whose tasks are the rows of a file keeps the contract,
// including ground truths.
func TestDatasetContract(t *testing.T) {
	testneeds.Slow(t, "checks the contract of every plug-in")
	rows := ""
	for i := range 20 {
		rows += fmt.Sprintf(`{"prompt": "What is %d + %d?", "ground_truth": "%d", "level": "easy"}`+"\n", i, i, 2*i)
	}
	file := filepath.Join(t.TempDir(), "rows.jsonl")
	require.NoError(t, os.WriteFile(file, []byte(rows), 0o600))
	cfg := sokoban(t, 3)
	cfg.Path, cfg.Options = build(t, "./plugins/dataset"), json.RawMessage(fmt.Sprintf(`{"file": %q}`, file))
	envtest.Run(t, func(t testing.TB) env.Env { return open(t, cfg) }, "4", "six")
}

// Promise: an environment with text actions, tools, infos and features that
// are not 0 or 1 keeps it too.
func TestTextContract(t *testing.T) {
	testneeds.Slow(t, "checks the contract of every plug-in")
	cfg := host.DefaultConfig()
	cfg.Path, cfg.Slots = build(t, "./internal/host/testdata/echo"), 3
	envtest.Run(t, func(t testing.TB) env.Env { return open(t, cfg) }, "one", "zwei ✓", "")
}

// Promise: an environment's errors about its options cross the process boundary as
// typed faults with key paths, and are not retried.
func TestWrongOptions(t *testing.T) {
	cfg := sokoban(t, 1)
	cfg.Options = json.RawMessage(`{"boxes": 9, "speed": 1}`)
	_, err := host.Open(t.Context(), cfg)
	require.ErrorIs(t, err, fault.Of(fault.Config, fault.Invalid))
	require.EqualError(t, err, "options.speed: is not an option\noptions.boxes: must be 1 to 5 on a board of this size, not 9")
	require.Equal(t, "the options are size, boxes, walls, optimum, levels, shares, optimum_states, max_steps, features", fault.As(err).Hint)
	cfg.Options = json.RawMessage(`{"boxes": 9, "max_steps": -1}`)
	_, err = host.Open(t.Context(), cfg)
	require.EqualError(t, err, "options.max_steps: must be positive, not -1\noptions.boxes: must be 1 to 5 on a board of this size, not 9")
}

// Promise: an environment's error without a key or a kind becomes a refusal that names
// the plug-in, alone or together with others.
func TestPlainRefusal(t *testing.T) {
	cfg := sokoban(t, 1)
	cfg.Split = "exam"
	_, err := host.Open(t.Context(), cfg)
	require.ErrorIs(t, err, fault.Of(fault.Plugin, fault.Refused))
	require.EqualError(t, err, `sokoban: split "exam" is not one of train, validation, test`)
	cfg.Options = json.RawMessage(`{"max_steps": 0}`)
	_, err = host.Open(t.Context(), cfg)
	require.ErrorIs(t, err, fault.Of(fault.Config, fault.Invalid))
	require.ErrorContains(t, err, `sokoban: split "exam" is not one of`)
}

// Promise: a rendered picture crosses the wire.
func TestRender(t *testing.T) {
	e := open(t, sokoban(t, 2))
	var r env.Reply
	require.NoError(t, e.Exchange(t.Context(), batch(e, env.Reset), &r))
	text, err := e.(env.Renderer).Render(t.Context(), 1)
	require.NoError(t, err)
	require.Equal(t, r.Anchor[1]+"\nstep 0 of 25", text)
	_, err = e.(env.Renderer).Render(t.Context(), 2)
	require.EqualError(t, err, "slot 2 does not exist: the environment has 2 slots")
	require.NoError(t, e.Exchange(t.Context(), batch(e, env.Step), &r), "the episodes go on")
}

// Promise: the settings of a host are checked all at once.
func TestConfig(t *testing.T) {
	require.Empty(t, host.DefaultConfig().Validate())
	_, err := host.Open(t.Context(), host.Config{Start: host.Start{Path: "x", Limits: host.Limits{Memory: 1, Files: 1, Output: -1}, Options: json.RawMessage("{")}})
	for _, key := range []string{"slots", "start_timeout", "batch_deadline", "reset_deadline", "limits.memory", "limits.files", "limits.output", "options"} {
		require.ErrorContains(t, err, key+": ")
	}
}
