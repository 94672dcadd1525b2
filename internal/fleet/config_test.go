package fleet_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/internal/fleet"
)

// Promise: a run accepts a number of copies that survives the loss of a server, and no other
// number.
func TestReplicasAreOdd(t *testing.T) {
	for n, ok := range map[int]bool{-1: false, 0: true, 1: true, 2: false, 3: true, 4: false, 5: true, 7: false} {
		c := fleet.DefaultConfig()
		c.Replicas = n
		if err := errors.Join(c.Validate()...); ok {
			require.NoError(t, err, n)
		} else {
			require.ErrorContains(t, err, "replicas", n)
		}
	}
}
