package fleetcmd

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/internal/cli/console"
	"github.com/merit-rl/merit/internal/fleet/queue"
)

// Promise: the tables show slow and draining workers. The host name of a hostile worker neither
// controls the terminal nor imitates another worker's row.
func TestStatusTables(t *testing.T) {
	s := &queue.Status{
		Workers: []queue.Worker{
			{Name: "a", Host: "one", Build: "b1", Slots: 2, Busy: 1, Done: 10, Seconds: 1},
			{Name: "b", Host: "two\nroot  evil\x1b[2J", Build: "b1", Slots: 2, Done: 9, Failed: 1, Seconds: 1.5, Drains: true},
			{Name: "c", Host: "three", Build: "b1", Slots: 1, Done: 3, Seconds: 3.5, Labels: []string{"gpu", "big"}},
			{Name: "d", Host: "four", Build: "b1", Slots: 1},
		},
		Queues: []queue.Queue{{Build: "b1", Label: "any", Waiting: 7, Underway: 3, Redelivered: 1, Oldest: 90*time.Second + 4}},
	}
	var out bytes.Buffer
	require.NoError(t, print(&console.Host{Stdout: &out}, s))
	require.Equal(t, `worker  host                      slots  busy  done  failed  seconds  labels   build
a       one                           2     1    10       0     1.00           b1
b       two\nroot  evil\u001b[2J      2     0     9       1     1.50           b1     draining
c       three                         1     0     3       0     3.50  gpu big  b1     slow
d       four                          1     0     0       0     0.00           b1

queue  label  waiting  in progress  redelivered  oldest
b1     any          7            3            1   1m30s
`, out.String())
}

// Promise: a log line stays on one line.
func TestInline(t *testing.T) {
	require.Equal(t, `level=INFO\n2026 honest level=ERROR\u001b[31m`, inline("level=INFO\n2026 honest level=ERROR\x1b[31m"))
}
