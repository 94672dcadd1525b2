// Package envtest tests the contract of env.Env with internal/contracts/envcontract,
// for an environment in this process and for the same one behind a plug-in. It also
// plays environments, to measure policies on them.
package envtest

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/env"
	"github.com/merit-rl/merit/internal/contracts/envcontract"
)

// Run checks the environment that open returns, with any number of slots. open
// is called anew for each promise. An environment with free text as its action
// gets texts, in turn.
func Run(t *testing.T, open func(testing.TB) env.Env, texts ...string) {
	t.Helper()
	results, err := envcontract.Run(t.Context(), func(context.Context) (env.Env, error) { return open(t), nil }, envcontract.Options{Texts: texts})
	require.NoError(t, err)
	for _, r := range results {
		t.Run(r.Promise, func(t *testing.T) {
			if r.Skipped != "" {
				t.Log("skipped: " + r.Skipped)
			}
			require.NoError(t, r.Err)
		})
	}
}
