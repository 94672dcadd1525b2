// Package policytest tests the contract of policy.Policy, with
// internal/contracts/policycontract, and the contract of policy.Learner. It tests the
// embedded network and policies behind a plug-in.
package policytest

import (
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/policy"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/contracts/policycontract"
)

// Subject is a policy under test.
type Subject = policycontract.Subject

// Run tests the contract; see policycontract.Run.
func Run(t *testing.T, s Subject) {
	t.Helper()
	results, err := policycontract.Run(t.Context(), s)
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

// observations returns n observations of a subject. A third of them have the
// first action masked, if there is another.
func observations(s Subject, n int) []policy.Observation {
	list := make([]policy.Observation, n)
	for i := range list {
		list[i] = s.Observe(i)
		list[i].Seed, list[i].Mask = rl.Seed(99).Child(uint64(i)), nil
		if actions := len(list[i].Actions); i%3 == 1 && actions > 1 {
			list[i].Mask = slices.Repeat([]byte{1}, actions)
			list[i].Mask[0] = 0
		}
	}
	return list
}

func act(t testing.TB, s Subject, observations []policy.Observation) []policy.Decision {
	decisions := make([]policy.Decision, len(observations))
	require.NoError(t, s.Policy.Act(context.Background(), observations, decisions))
	return decisions
}
