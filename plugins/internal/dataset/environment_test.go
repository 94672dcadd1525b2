package dataset

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/env"
	"github.com/merit-rl/merit/internal/contracts/envtest"
	"github.com/merit-rl/merit/sdk/plugin"
	"github.com/merit-rl/merit/sdk/plugin/tasks"
)

// file writes text for the option file.
func file(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "rows.txt")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	return path
}

func many(t *testing.T) string {
	var all []string
	for i := range 50 {
		all = append(all, fmt.Sprint("prompt ", i))
	}
	return file(t, strings.Join(all, "\n\n"))
}

// Promise: the rows of a file keep the contract of env.Env within a process.
func TestContract(t *testing.T) {
	options := fmt.Sprintf(`{"file": %q, "ask": "Say: {prompt}", "system": "Be brief."}`, many(t))
	envtest.Run(t, func(t testing.TB) env.Env {
		e, err := Definition().Open(plugin.Setup{Slots: 5, Split: plugin.Train}, json.RawMessage(options))
		require.NoError(t, err)
		t.Cleanup(func() { _ = e.Close() })
		return e
	}, "a reply", "another reply")
}

// Promise: an episode is the prompt as it is asked for, one reply of free text,
// and no reward.
func TestOneReply(t *testing.T) {
	o := defaults()
	o.File, o.Ask, o.System = file(t, "bees\n\n \t\n\nants\nand more ants\n"), "A title for {prompt}!", "You write titles."
	o.Shares = plugin.Shares{Validation: 0.1, Test: 0.1}
	e, err := newEnvironment(plugin.Setup{Slots: 1, Split: plugin.Train}, o)
	require.NoError(t, err)
	require.Equal(t, plugin.Spec{MaxSteps: 1, System: "You write titles.", Tasks: 2}, e.Spec())
	s, err := e.NewSlot()
	require.NoError(t, err)
	seen := map[string]bool{}
	for seed := range uint64(2) {
		var first, last plugin.Turn
		require.NoError(t, s.Reset(seed, &first))
		require.NoError(t, s.Step(plugin.Action{Text: "Tiny Workers"}, &last))
		require.True(t, last.Terminated)
		require.Zero(t, last.Reward)
		seen[string(first.Text)] = true
	}
	require.Equal(t, map[string]bool{"A title for bees!": true, "A title for ants\nand more ants!": true}, seen)
}

// Promise: the splits share no prompt, none is lost or there twice, and their
// sizes are what the shares say.
func TestSplits(t *testing.T) {
	o := defaults()
	o.File = many(t)
	all, err := o.read()
	require.NoError(t, err)
	seen := map[string]bool{}
	for split, want := range map[string]int{plugin.Train: 30, plugin.Validation: 10, plugin.Test: 10} {
		dealt := o.deal(all, split)
		require.Len(t, dealt, want)
		for _, task := range dealt {
			prompt := tasks.Key(task)
			require.False(t, seen[prompt])
			seen[prompt] = true
		}
	}
}

// Promise: every option that is wrong is named with its key, all at once.
func TestWrongOptions(t *testing.T) {
	for options, want := range map[string][]string{
		`{"ask": "hello", "shares": {"test": 1}, "fiel": "x"}`: {
			`options.ask: "hello" does not contain {prompt}`,
			"options.shares: validation 0.2 and test 1 must be positive",
			"options.file: no file of prompts is named",
			"options.fiel: is not an option",
		},
		`{"file": "none.txt"}`:                             {"options.file: open none.txt"},
		fmt.Sprintf(`{"file": %q}`, file(t, "\xff")):       {"is not UTF-8"},
		fmt.Sprintf(`{"file": %q}`, file(t, "")):           {"none of the 0 prompts is left for split test"},
		fmt.Sprintf(`{"file": %q}`, file(t, "one\n\none")): {"none of the 1 prompts is left for split test"},
	} {
		_, err := Definition().Open(plugin.Setup{Slots: 1, Split: plugin.Test}, json.RawMessage(options))
		require.Error(t, err)
		for _, text := range want {
			require.ErrorContains(t, err, text)
		}
	}
}
