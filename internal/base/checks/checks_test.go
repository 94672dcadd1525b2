package checks_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/base/checks"
)

// Promise: a check ends at what breaks it, with where, what and a hint; a
// difference is shown where it is; a skipped one is neither kept nor broken.
func TestCheck(t *testing.T) {
	type row struct{ Name string }
	for says, check := range map[string]func(*checks.Checker){
		"":              func(c *checks.Checker) { c.Require(true, "", ""); c.Same(1, 1, "", ""); c.OK(nil, "") },
		"slot 3: has 2": func(c *checks.Checker) { c.Require(false, "slot 3", "has %d", 2) },
		"now: later: [1].Name is \"b\", then \"c\"": func(c *checks.Checker) {
			c.Same([]row{{"a"}, {"b"}}, []row{{"a"}, {"c"}}, "now", "later")
		},
		"x: y:  (number of entries) is 1, then 2": func(c *checks.Checker) { c.Same([]int{1}, []int{1, 2}, "x", "y") },
		"slot 1: failed: boom":                    func(c *checks.Checker) { c.OK(errors.New("boom"), "slot 1") },
	} {
		r := checks.Check("p", fault.Plugin, "do so", check)
		require.Equal(t, "p", r.Promise)
		if says == "" {
			require.NoError(t, r.Err)
			continue
		}
		require.EqualError(t, r.Err, says)
		require.Equal(t, "do so", fault.As(r.Err).Hint)
		require.ErrorIs(t, r.Err, fault.Of(fault.Plugin, fault.Protocol))
	}
	r := checks.Check("p", fault.Plugin, "", func(c *checks.Checker) { c.Skip("no pictures") })
	require.Equal(t, "no pictures", r.Skipped)
	require.NoError(t, r.Err)
	require.Panics(t, func() { checks.Check("p", fault.Plugin, "", func(*checks.Checker) { panic("bug") }) })
}
