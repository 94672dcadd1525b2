package zoo_test

import (
	"path/filepath"
	"testing"

	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/stretchr/testify/require"
)

// Promise: rewards in every language see the same of a row: each field of each
// message, what came in another form, where the prompt ends, what was a text, and
// the columns.
func TestEveryLanguageSeesTheSame(t *testing.T) {
	testneeds.Slow(t, "compares hundreds of rewards with how they run natively")
	merit := testneeds.Merit(t)
	rows := filepath.Join("sees", "rows.jsonl")
	want := evaluated(t, merit, filepath.Join("sees", "sees.py"), rows)
	require.Len(t, want, 6)
	different := map[string]bool{}
	for id, score := range want {
		require.Contains(t, score, "scored ", id)
		different[score] = true
	}
	require.Len(t, different, 6, "the digest tells rows apart")
	require.Equal(t, want, evaluated(t, merit, filepath.Join("sees", "sees.js"), rows), "JavaScript")
	for language, source := range map[string]string{"go": "go", "c": "sees.c", "rust": "sees.rs", "assemblyscript": "sees.ts"} {
		module := filepath.Join(t.TempDir(), "reward.wasm")
		builders[language](t, filepath.Join("sdk/conformance/zoo/sees", source), module)
		require.Equal(t, want, evaluated(t, merit, module, rows), language)
	}
}
