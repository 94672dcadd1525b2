package credit

import "testing"

// Bound has a test's requests compare anchors in fewer steps, so that it need
// not take seconds.
func Bound(t *testing.T, steps int64) {
	before := bound
	bound = steps
	t.Cleanup(func() { bound = before })
}
