package run_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/run"
)

// Promise: the starts of test episodes are counted in whole sentences, also if there is only one.
func TestStartsInWords(t *testing.T) {
	for want, s := range map[string]run.Starts{
		"1 distinct start in 20 test episodes; intervals and test are clustered by start":            {Episodes: 20, Distinct: 1},
		"7 distinct starts in 20 test episodes; intervals and test are clustered by start":           {Episodes: 20, Distinct: 7},
		"7 distinct starts of 3 tasks in 20 test episodes; intervals and test are clustered by task": {Episodes: 20, Distinct: 7, Clusters: 3},
		"The 20 test episodes have distinct starts":                                                  {Episodes: 20, Distinct: 20},
	} {
		require.Contains(t, s.String(), want)
	}
}
