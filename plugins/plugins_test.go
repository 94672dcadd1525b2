package plugins_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/env"
	"github.com/merit-rl/merit/core/policy"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/internal/contracts/envtest"
	"github.com/merit-rl/merit/internal/contracts/policytest"
	"github.com/merit-rl/merit/internal/host"
	"github.com/merit-rl/merit/internal/host/disk"
	"github.com/merit-rl/merit/internal/models/chattest"
	"github.com/merit-rl/merit/internal/openenv/envserver"
	"github.com/merit-rl/merit/plugins"
	"github.com/merit-rl/merit/plugins/internal/grid"
	"github.com/merit-rl/merit/sdk/merit"
	"github.com/merit-rl/merit/sdk/plugin"
)

var programs string // the folder of the plug-ins as separate programs

// This test binary is a program with plug-ins, as merit is one.
func TestMain(m *testing.M) {
	plugins.Main()
	dir, err := os.MkdirTemp("", "merit-plugins-")
	if err != nil {
		panic(err)
	}
	programs = dir
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// names are those of the built-in plug-ins.
func names(t *testing.T) (all []string) {
	t.Helper()
	found, err := disk.List(disk.BuiltIn)
	require.NoError(t, err)
	for _, e := range found {
		require.NoError(t, e.Err)
		all = append(all, e.Name)
	}
	return all
}

// both runs a test with a plug-in as it is built in and as a separate program.
func both(t *testing.T, name string, test func(t *testing.T, path string)) {
	t.Helper()
	testneeds.NotShort(t)
	t.Run("built in", func(t *testing.T) { test(t, disk.BuiltIn+name) })
	t.Run("program", func(t *testing.T) {
		testneeds.Slow(t, "builds a program for each plug-in")
		program := filepath.Join(programs, name)
		build := exec.Command("go", "build", "-o", program, "./plugins/"+name)
		build.Dir = testneeds.Root()
		text, err := build.CombinedOutput()
		require.NoError(t, err, string(text))
		test(t, program)
	})
}

// Promise: every environment and policy that comes with Merit is built in, and go
// build makes a program of each.
func TestEveryFolderIsBuiltIn(t *testing.T) {
	mains, err := filepath.Glob(filepath.Join(testneeds.Root(), "plugins", "*", "main.go"))
	require.NoError(t, err)
	var folders []string
	for _, main := range mains {
		folders = append(folders, filepath.Base(filepath.Dir(main)))
	}
	require.Equal(t, slices.Sorted(slices.Values(folders)), names(t))
}

// environments are options with which each environment is tried, and what a
// language model says to those that have no list of actions.
func environments(t *testing.T) map[string]struct {
	options string
	texts   []string
} {
	rows := filepath.Join(t.TempDir(), "rows.txt")
	var prompts []string
	for i := range 200 {
		prompts = append(prompts, fmt.Sprint("What is ", i, "?"))
	}
	require.NoError(t, os.WriteFile(rows, []byte(strings.Join(prompts, "\n\n")), 0o600))
	type trial = struct {
		options string
		texts   []string
	}
	return map[string]trial{
		"2048": {options: `{}`}, "frozenlake": {options: `{}`}, "grid": {options: `{}`}, "htdag": {options: `{}`}, "sokoban": {options: `{}`}, "rubric": {options: `{}`},
		"toolbox": {options: `{"form": "choice"}`},
		"dataset": {options: fmt.Sprintf(`{"file": %q}`, rows), texts: []string{"an answer"}},
		"openenv": {options: fmt.Sprintf(`{"url": %q, "max_steps": 12, "connect_timeout": "60s", "reset_timeout": "60s", "step_timeout": "60s",
			"action": {"as": "choices", "choices": [{"name": "u", "action": {"action": 0}}, {"name": "d", "action": {"action": 1}}]}, "observation": {"text": "observation.text"}}`, server(t))},
	}
}

// server serves an environment by OpenEnv's protocol.
func server(t *testing.T) string {
	t.Helper()
	c := envserver.DefaultConfig()
	c.Listen, c.Processes = "127.0.0.1:0", 1
	open := func(context.Context, string, int) (env.Env, error) {
		return grid.Definition().Open(plugin.Setup{Slots: 8, Split: plugin.Train}, nil)
	}
	s, err := envserver.Open(t.Context(), merit.DefaultConfig(), c, envserver.Options{Merit: []merit.Option{merit.WithEnvironment(open)}})
	require.NoError(t, err)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx) }()
	t.Cleanup(func() {
		stop()
		require.NoError(t, <-ended)
		require.NoError(t, s.Close())
	})
	return s.URL()
}

// Promise: every environment keeps the contract of env.Env over a process and a
// socket, built in and as a separate program.
func TestEnvironments(t *testing.T) {
	for name, trial := range environments(t) {
		t.Run(name, func(t *testing.T) {
			both(t, name, func(t *testing.T, path string) {
				envtest.Run(t, func(t testing.TB) env.Env {
					cfg := host.DefaultConfig()
					cfg.Path, cfg.Slots, cfg.Options = path, 4, json.RawMessage(trial.options)
					e, err := host.Open(t.Context(), cfg)
					require.NoError(t, err)
					t.Cleanup(func() { _ = e.Close() })
					return e
				}, trial.texts...)
			})
		})
	}
}

// Promise: every policy keeps the contract of policy.Policy over a process and a
// socket, built in and as a separate program.
func TestPolicies(t *testing.T) {
	model := chattest.New(t, 0, func(c chattest.Call) chattest.Reply {
		if strings.HasSuffix(c.Path, "/models") {
			return chattest.Models("small")
		}
		return chattest.Say("left")
	})
	actions := []string{"execute", "leave"}
	for name, options := range map[string]string{"planner": `{}`, "openai": fmt.Sprintf(`{"url": %q, "model": "small"}`, model.URL)} {
		t.Run(name, func(t *testing.T) {
			both(t, name, func(t *testing.T, path string) {
				cfg := host.DefaultPolicyConfig()
				cfg.Path, cfg.Options, cfg.Actions = path, json.RawMessage(options), actions
				p, err := host.OpenPolicy(t.Context(), cfg)
				require.NoError(t, err)
				t.Cleanup(func() { require.NoError(t, p.Close()) })
				policytest.Run(t, policytest.Subject{Policy: p, Observe: func(i int) policy.Observation {
					text := "request project, size about 2, split: a thing\n  t1 build, size about 3: maps covering a and b\nWhat about t1?"
					return policy.Observation{Text: text, Actions: actions, Messages: []rl.Message{{Role: rl.RoleUser, Content: rl.Text(text)}}}
				}})
			})
		})
	}
}

// Promise: a built-in plug-in reports the same description as the separate program, except
// for path and digest, and the same whether it is started or not.
func TestDescriptions(t *testing.T) {
	for _, name := range names(t) {
		t.Run(name, func(t *testing.T) {
			found, err := host.Inspect(t.Context(), disk.BuiltIn+name, "")
			require.NoError(t, err)
			m, err := disk.ReadManifest(disk.BuiltIn + name)
			require.NoError(t, err)
			require.Equal(t, disk.Manifest{
				Name: name, Version: found.Version, Kind: found.Kind, Summary: found.Summary, Protocol: int(found.Protocol),
				Digest: "sha256:" + found.Digest, Options: m.Options,
			}, *m)
			require.Equal(t, defaults(disk.Schema(found.Options)), defaults(m.Options)) // with descriptions and types besides
		})
	}
}

// defaults are the names of the options in a schema, with the default of each as JSON.
func defaults(schema any) map[string]string {
	text, _ := json.Marshal(schema)
	var described struct {
		Properties map[string]struct{ Default json.RawMessage }
	}
	_ = json.Unmarshal(text, &described)
	all := map[string]string{}
	for name, p := range described.Properties {
		all[name] = strings.TrimPrefix(string(p.Default), "null") // the same as none
	}
	return all
}

// Promise: the digest of a built-in plug-in is unique and constant within a build; if another
// one is expected, no process starts.
func TestDigests(t *testing.T) {
	seen := map[string]bool{}
	for _, name := range names(t) {
		digest, err := disk.Digest(disk.BuiltIn + name)
		require.NoError(t, err)
		require.Len(t, digest, 64)
		require.False(t, seen[digest])
		seen[digest] = true
		_, err = disk.Expected(disk.BuiltIn+name, disk.Expectation{Digest: digest, Allow: []string{"sha256:" + digest}})
		require.NoError(t, err)
	}
	_, err := disk.Expected(disk.BuiltIn+"sokoban", disk.Expectation{Digest: strings.Repeat("0", 64)})
	require.ErrorContains(t, err, "not the expected")
	_, err = disk.Expected(disk.BuiltIn+"sokoban", disk.Expectation{Allow: []string{}})
	require.ErrorContains(t, err, "is not allowed here")
}

// Promise: a file in a folder before the built-in ones wins over them, one in a
// later folder does not, and builtin:NAME always means the built-in one.
func TestNames(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "sokoban")
	require.NoError(t, os.WriteFile(file, nil, 0o700))
	for want, plugin := range map[string]struct {
		name    string
		folders []string
	}{
		file:             {"sokoban", []string{dir, disk.BuiltIn}},
		"builtin:grid":   {"grid", []string{dir, disk.BuiltIn}},
		"builtin:2048":   {"builtin:2048", nil},
		"builtin:openai": {"openai", []string{disk.BuiltIn, dir}},
	} {
		path, err := disk.Find(plugin.name, plugin.folders...)
		require.NoError(t, err)
		require.Equal(t, want, path)
	}
	path, err := disk.Find("sokoban", disk.BuiltIn, dir)
	require.NoError(t, err)
	require.Equal(t, "builtin:sokoban", path)
	_, err = disk.Find("sokobann", disk.BuiltIn)
	require.ErrorContains(t, err, "no plug-in has this name in merit itself")
	_, err = disk.Find("builtin:maze")
	require.ErrorContains(t, err, "no built-in plug-in of that name")
}
