package tracestest_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/internal/traces/tracestest"
)

// Promise: what tests are given is what recorders may send, and the same each
// time.
func TestSpansAreFit(t *testing.T) {
	for i := range 70 {
		spans, about := tracestest.Spans(i)
		again, _ := tracestest.Spans(i)
		require.Equal(t, spans, again)
		require.NoError(t, about.Check())
		for k := range spans {
			require.NoError(t, spans[k].Check())
		}
	}
}
