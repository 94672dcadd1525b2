package outcomes_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/internal/outcomes"
)

// Promise: every outcome has a row, in the order of tables; only a score has no cause; only what the
// infrastructure caused may be tried again; and the Python package has the same causes.
func TestTable(t *testing.T) {
	python, err := os.ReadFile(filepath.Join(testneeds.Root(), "sdk/python/merit_rl/results.py"))
	require.NoError(t, err)
	var order []reward.Outcome
	for _, f := range outcomes.All() {
		order = append(order, f.Outcome)
		require.Equal(t, f, outcomes.Of(f.Outcome))
		require.Equal(t, f.Outcome == reward.Scored, f.Cause == outcomes.None, f.Outcome)
		require.Equal(t, f.Outcome == reward.Scored || f.Cause == outcomes.Infrastructure, !f.Terminal, f.Outcome)
		if f.Cause != outcomes.None {
			require.Contains(t, string(python), fmt.Sprintf("    %q: %q,\n", f.Outcome, f.Cause))
		}
	}
	require.Equal(t, reward.Outcomes, order)
	require.Equal(t, outcomes.Infrastructure, outcomes.Of("unheard of").Cause)
}
