package credit

import "testing"

// Bound limits the steps for comparing anchors in tests, so that they do not take seconds.
func Bound(t *testing.T, steps int64) {
	before := bound
	bound = steps
	t.Cleanup(func() { bound = before })
}
