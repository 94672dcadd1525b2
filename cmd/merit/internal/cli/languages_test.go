package cli_test

import (
	"context"
	"path/filepath"
	"slices"
	"testing"

	"github.com/merit-rl/merit/cmd/merit/internal/guest"
	"github.com/merit-rl/merit/core/testneeds"
	"github.com/merit-rl/merit/sandbox/interpreter"
	"github.com/stretchr/testify/require"
)

// Promise: in every language a new reward builds, passes its own golden
// fixtures and the sandbox's check at once, and all languages agree.
func TestNewRewardsWorkAtOnce(t *testing.T) {
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

// Promise: for every export that the sandbox asks for, every language says how
// it is made.
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
