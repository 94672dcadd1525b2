package outcomes_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/internal/outcomes"
)

// Promise: every outcome has a row, in the order of tables; only a score has no cause; only what the
// infrastructure caused may be tried again; and the Python package has the same rows.
func TestTable(t *testing.T) {
	python, err := os.ReadFile(filepath.Join(testneeds.Root(), "sdk/python/merit_rl/_outcomes.py"))
	require.NoError(t, err)
	var order []reward.Outcome
	var rows strings.Builder
	for _, f := range outcomes.All() {
		order = append(order, f.Outcome)
		require.Equal(t, f, outcomes.Of(f.Outcome))
		require.Equal(t, f.Outcome == reward.Scored, f.Cause == outcomes.None, f.Outcome)
		require.Equal(t, f.Outcome == reward.Scored || f.Cause == outcomes.Infrastructure, !f.Terminal, f.Outcome)
		fmt.Fprintf(&rows, "    %q: Form(%s, %s, %q),\n", f.Outcome, literal(string(f.Cause)), literal(f.Verifiers), f.Miles)
	}
	require.Equal(t, reward.Outcomes, order)
	require.Equal(t, outcomes.Infrastructure, outcomes.Of("unheard of").Cause)
	require.Contains(t, string(python), "FORMS = {\n"+rows.String()+"}\n")
}

// literal returns a text as Python writes it; an empty one is None.
func literal(text string) string {
	if text == "" {
		return "None"
	}
	return fmt.Sprintf("%q", text)
}

// Promise: of a Python traceback, a message shows what was wrong, not where the frames begin.
func TestSaid(t *testing.T) {
	trace := "Traceback (most recent call last):\n  File \"reward.py\", line 4, in score\n    text[0]['content']\nTypeError: string indices must be integers, not 'str'"
	require.Equal(t, "TypeError: string indices must be integers, not 'str'", outcomes.Said(trace))
	require.Equal(t, "out of fuel", outcomes.Said("out of fuel"))
	require.Equal(t, "Traceback (most recent call last):", outcomes.Said("Traceback (most recent call last):"))
}
