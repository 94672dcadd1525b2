package main

import (
	"testing"
	"time"

	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/stretchr/testify/require"
)

// Promise: the simulation runs to its end with the real server and clients.
func TestSimulate(t *testing.T) {
	testneeds.NotShort(t)
	for _, servers := range []int{1, 3} {
		require.NoError(t, simulate(t.Context(), sizes{workers: 8, shards: 40, body: 300, result: 2000, servers: servers, work: 10 * time.Millisecond}))
	}
}
