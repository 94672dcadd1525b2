package engine

import (
	"testing"
	"time"
)

// SetGrace changes how long a server may take to end, for one test.
func SetGrace(t *testing.T, d time.Duration) {
	before := grace
	grace = d
	t.Cleanup(func() { grace = before })
}
