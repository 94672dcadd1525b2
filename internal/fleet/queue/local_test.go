package queue_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/internal/fleet/queue"
)

// Promise: the local fleet passes the suite of every fleet and leaves nothing running.
func TestLocal(t *testing.T) {
	testneeds.NotShort(t)
	defer goleak.VerifyNone(t)
	Run(t, func(t *testing.T, handlers map[queue.Kind]queue.Handler, workers int) queue.Fleet {
		return queue.Local(workers, handlers)
	})
}
