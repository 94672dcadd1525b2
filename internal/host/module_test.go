package host_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/env"
	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/contracts/envtest"
	"github.com/merit-rl/merit/internal/host"
	"github.com/merit-rl/merit/internal/host/disk"
)

func module(t testing.TB, pkg string, slots int) host.Config {
	cfg := host.DefaultConfig()
	cfg.Path, cfg.Slots = envtest.Module(t, pkg), slots
	return cfg
}

// Promise: as a module, an environment with text actions, tools and metrics keeps the
// contract, and so does one that steps its slots together.
func TestModuleContracts(t *testing.T) {
	echo, together := module(t, "internal/host/testdata/echo", 3), module(t, "internal/host/testdata/together", 4)
	envtest.Run(t, func(t testing.TB) env.Env { return open(t, echo) }, "one", "zwei ✓", "")
	envtest.Run(t, func(t testing.TB) env.Env { return open(t, together) })
}

// Promise: a panic, an error and an exit of Go code end one episode, with what the
// code said.
func TestModuleFaults(t *testing.T) {
	cfg := module(t, "internal/host/testdata/echo", 2)
	cfg.Sandbox.Fuel = 100_000_000
	e, r := open(t, cfg), env.Reply{}
	for say, says := range map[string]string{
		"panic": "panic: as asked",
		"exit":  "echo: it exited with status 5 instead of returning; it printed: to stdout\nto stderr",
		"tell":  "no entry with ",
	} {
		require.NoError(t, e.Exchange(t.Context(), batch(e, env.Reset), &r))
		b := batch(e, env.Step)
		b.Texts[1] = say
		require.NoError(t, e.Exchange(t.Context(), b, &r))
		require.Equal(t, env.Flag(0), r.Flags[0])
		require.Equal(t, env.Failed, r.Flags[1], say)
		at := slices.IndexFunc(r.Events, func(e env.Event) bool { return e.Kind == env.EventError })
		require.GreaterOrEqual(t, at, 0)
		failure := r.Events[at]
		require.True(t, strings.HasPrefix(failure.Message, says), failure.Message)
	}
	together := open(t, module(t, "internal/host/testdata/together", 2))
	require.NoError(t, together.Exchange(t.Context(), batch(together, env.Reset), &r))
	b := batch(together, env.Step)
	b.Actions[0], b.Want = 2, env.WantFeatures
	require.NoError(t, together.Exchange(t.Context(), b, &r))
	require.Equal(t, []env.Event{{Slot: 0, Kind: env.EventError, Message: "as asked"}}, r.Events[:1])
}

// Promise: a module is found, described, pinned and installed as a program is; a policy
// cannot be one.
func TestModuleIsAPlugin(t *testing.T) {
	cfg := module(t, "internal/host/testdata/echo", 1)
	found, err := host.Inspect(t.Context(), cfg.Path, "")
	require.NoError(t, err)
	require.Equal(t, host.Found{
		Name: "echo", Kind: host.Environment, Path: cfg.Path, Version: "1", Digest: found.Digest, Protocol: 1, Summary: "Says what it heard.",
		Options: json.RawMessage(`{}`), FeatureShape: []int{3}, MaxSteps: 20,
	}, found)
	cfg.Digest = found.Digest
	open(t, cfg)
	cfg.Digest = strings.Repeat("0", 64)
	_, err = host.Open(t.Context(), cfg)
	require.ErrorContains(t, err, "not the expected 0000")
	cfg.Digest, cfg.Allow = "", []string{"sha256:" + strings.Repeat("0", 64)}
	_, err = host.Open(t.Context(), cfg)
	require.ErrorContains(t, err, "is not on the list plugins.allow")

	at, err := host.Find("echo", filepath.Dir(cfg.Path))
	require.NoError(t, err)
	require.Equal(t, cfg.Path, at)
	folder := t.TempDir()
	require.NoError(t, os.Link(cfg.Path, filepath.Join(folder, "any.wasm")))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "plugin.yaml"), []byte("name: echo\nversion: \"1\"\nkind: environment\ncommand: [any.wasm]\n"), 0o600))
	found, err = host.Inspect(t.Context(), folder, "")
	require.NoError(t, err)
	require.Equal(t, "echo", found.Name)

	policy := host.DefaultPolicyConfig()
	policy.Path = cfg.Path
	_, err = host.OpenPolicy(t.Context(), policy)
	require.ErrorIs(t, err, fault.Of(fault.Plugin, fault.Refused))
	require.ErrorContains(t, err, "is a WebAssembly module, and only environments can be modules")
}

// Promise: environment.module names a module, a Python file or a folder, and everything but a
// module gets the prefix of the sandbox; a program is refused there.
func TestModulePaths(t *testing.T) {
	for module, want := range map[string]string{
		"maze.wasm": "./maze.wasm", "maze.js": "sandbox:./maze.js", "./maze.py": "sandbox:./maze.py", "../maze": "sandbox:../maze", "/maze.py": "sandbox:/maze.py", "": "name",
	} {
		path, is := host.Choice("name", module)
		require.Equal(t, want, path)
		require.Equal(t, module != "", is)
	}
	for module, wrong := range map[string]bool{"maze.wasm": false, "maze.py": false, "maze": false, "maze.txt": true, "sandbox:maze.sh": true} {
		var p fault.Problems
		host.CheckModule(&p, "", "", module)
		require.Equal(t, wrong, len(p) > 0, module)
	}
	folder := t.TempDir()
	file := filepath.Join(folder, "environment.py")
	require.NoError(t, os.WriteFile(file, nil, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "plugin.yaml"), []byte("name: maze\ncommand: [environment.py]\n"), 0o600))
	for path, want := range map[string]string{
		"sandbox:" + file: file, "sandbox:" + folder: folder, "sandbox:" + folder + "/plugin.yaml": "", "sandbox:" + folder + "/none.py": "",
	} {
		found, err := host.Find(path)
		require.Equal(t, want == "", err != nil, path)
		if want != "" {
			require.Equal(t, "sandbox:"+want, found)
			digest, err := host.Digest(found)
			require.NoError(t, err)
			same, err := host.Digest(want)
			require.NoError(t, err)
			require.Equal(t, same, digest, "the same pin allows both ways")
		}
	}
	e, err := host.Find("sandbox:environment", folder)
	require.NoError(t, err)
	require.Equal(t, "sandbox:"+file, e)
	js := filepath.Join(t.TempDir(), "maze.js")
	require.NoError(t, os.WriteFile(js, nil, 0o600))
	require.True(t, disk.Runs(js))
	require.NoError(t, os.Chmod(js, 0o700))
	require.False(t, disk.Runs(js), "an executable file is a program")
}
