package fleet_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/merit-rl/merit/internal/fleet"
	"github.com/merit-rl/merit/internal/fleet/fleettest"
)

// Promise: this process is a fleet as any other, and leaves nothing running.
func TestLocal(t *testing.T) {
	defer goleak.VerifyNone(t)
	fleettest.Run(t, func(t *testing.T, handlers map[fleet.Kind]fleet.Handler, workers int) fleet.Fleet {
		cache, err := fleet.OpenCache(fleet.CacheOptions{Dir: filepath.Join(t.TempDir(), "contents")})
		require.NoError(t, err)
		return fleet.Local(workers, handlers, cache)
	})
}
