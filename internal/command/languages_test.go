package command_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/internal/cli/exit"
	"github.com/merit-rl/merit/internal/rewards/guest"
	"github.com/merit-rl/merit/sandbox/interpreter"
)

// Promise: in every language, a new reward builds and passes its own golden fixtures
// and the sandbox's check, and all languages agree.
func TestNewRewardsWorkAtOnce(t *testing.T) {
	testneeds.Slow(t, "compiles a reward in every language")
	for _, lang := range guest.Languages() {
		t.Run(lang.Name, func(t *testing.T) {
			for program, hint := range lang.Needs {
				testneeds.Tool(t, hint, program)
			}
			for _, i := range interpreter.All() {
				if i.Name == lang.Name {
					testneeds.File(t, "get it with: merit "+i.Name+" install", i.Path(interpreter.Folder()))
				}
			}
			folder := filepath.Join(t.TempDir(), "exactness")
			for _, args := range [][]string{
				{"reward", "new", folder, "--lang", lang.Name},
				{"reward", "build", folder},
				{"reward", "test", folder},
				{"reward", "check", folder},
			} {
				c := newConsole()
				require.Zero(t, c.Run(context.Background(), args), "%s: %s", args[1], c.err.String())
			}
			found, _, err := guest.Detect(folder)
			require.NoError(t, err)
			require.Equal(t, lang.Name, found.Name)
			c := newConsole()
			require.Zero(t, c.Run(context.Background(), []string{"reward", "inspect", folder}))
			require.Contains(t, c.out.String(), `"name":"exactness"`)
		})
	}
}

// Promise: the error for a module that did not register its reward says how its own
// language does so, both in check, which knows the source, and in eval, which sees only
// the module.
func TestMissingExportsTeach(t *testing.T) {
	testneeds.Slow(t, "compiles a reward in every language")
	for _, c := range []struct {
		lang, file, registers, instead string
		shows                          bool // in the module alone
	}{
		{"go", "main.go", "", "", true},
		{"rust", "src/lib.rs", "register!(score);", "", true},
		{"c", "reward.c", "MERIT_REGISTER(score)", "", false},
		{"cpp", "reward.cpp", "MERIT_REGISTER(score)", "", false},
		{"assemblyscript", "reward.ts", "export {", "import {", true},
	} {
		t.Run(c.lang, func(t *testing.T) {
			lang, err := guest.Find(c.lang)
			require.NoError(t, err)
			for program, hint := range lang.Needs {
				path := testneeds.Tool(t, hint, program)
				if program == "rustc" { // a module for WASI does not reveal its language
					testneeds.RustTarget(t, hint, path, "wasm32-unknown-unknown")
				}
			}
			folder := filepath.Join(t.TempDir(), "exactness")
			_, err = lang.Scaffold(folder)
			require.NoError(t, err)
			source, err := os.ReadFile(filepath.Join(folder, c.file))
			require.NoError(t, err)
			require.Contains(t, string(source), c.registers)
			forgot := strings.Replace(string(source), c.registers, c.instead, 1)
			if c.lang == "go" { // importing the SDK's package exports the function
				forgot = "package main\n\nfunc main() {}\n"
				require.NoError(t, os.Remove(filepath.Join(folder, "main_test.go")))
			}
			require.NoError(t, os.WriteFile(filepath.Join(folder, c.file), []byte(forgot), 0o644))
			alone := filepath.Join(t.TempDir(), "alone.wasm")
			run := func(args ...string) (int, string) {
				console := newConsole()
				return console.Run(context.Background(), args), console.err.String()
			}
			code, said := run("reward", "build", folder)
			require.Zero(t, code, said)
			wasm, err := os.ReadFile(filepath.Join(folder, "reward.wasm"))
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(alone, wasm, 0o644))
			code, said = run("reward", "check", folder)
			require.Equal(t, exit.Reward.Number, code)
			require.Contains(t, said, "does not export merit_evaluate")
			require.Contains(t, said, "hint: "+lang.Export("merit_evaluate"))
			code, said = run("eval", "--reward", alone, "--data", filepath.Join(folder, "fixtures", "answers.jsonl"))
			require.Equal(t, exit.Reward.Number, code)
			require.Contains(t, said, lang.Export("merit_evaluate"))
			require.Equal(t, c.shows, strings.Contains(said, "hint: "+lang.Export("merit_evaluate")), said)
		})
	}
}

// Promise: every language explains how to create each export that the sandbox needs.
func TestEveryLanguageTeaches(t *testing.T) {
	for _, lang := range guest.Languages() {
		for _, export := range []string{"memory", "merit_abi_1", "merit_alloc", "merit_evaluate", "merit_evaluate_group"} {
			require.NotEmpty(t, lang.Export(export), "%s: %s", lang.Name, export)
		}
		require.NotEqual(t, lang.Export("merit_evaluate"), lang.Export("merit_evaluate_group"), lang.Name)
	}
	names := []string{}
	for _, lang := range guest.Languages() {
		names = append(names, lang.Name)
	}
	require.Len(t, slices.Compact(slices.Sorted(slices.Values(names))), len(names))
}
