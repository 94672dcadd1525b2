package outlets_test

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/run"
	"github.com/merit-rl/merit/core/train"
	"github.com/merit-rl/merit/internal/telemetry/outlets"
)

// Promise: what is behind a resumed run reaches event files and scrapes, and
// after Close the address is free.
func TestEverythingThatWasAskedFor(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "logs")
	x, err := outlets.Open(outlets.Options{TensorBoard: dir, Metrics: "127.0.0.1:0"})
	require.NoError(t, err)
	var r train.Reporter = x
	r.(train.Beginner).Began([]run.Iteration{{Iteration: 1, Update: &run.Update{KL: 0.5}}}, 9)

	answer, err := http.Get(x.URL())
	require.NoError(t, err)
	text, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	require.Contains(t, string(text), "\nmerit_train_update_kl 0.5\n")
	addr := answer.Request.URL.Host

	_, err = outlets.Open(outlets.Options{Metrics: addr})
	require.ErrorIs(t, err, fault.Of(fault.Config, fault.Invalid))
	require.NotEmpty(t, fault.As(err).Hint)

	require.NoError(t, x.Close())
	files, err := filepath.Glob(filepath.Join(dir, "*tfevents*"))
	require.NoError(t, err)
	require.Len(t, files, 1)
	events, err := os.ReadFile(files[0])
	require.NoError(t, err)
	require.Contains(t, string(events), "update/kl")

	again, err := outlets.Open(outlets.Options{Metrics: addr})
	require.NoError(t, err)
	require.NoError(t, again.Close())
}

// Promise: a port without a host is served to this machine alone.
func TestAPortAloneIsThisMachines(t *testing.T) {
	x, err := outlets.Open(outlets.Options{Metrics: ":0"})
	require.NoError(t, err)
	require.Regexp(t, `^http://127\.0\.0\.1:\d+/metrics$`, x.URL())
	require.NoError(t, x.Close())
}

// Promise: without a wish nothing is opened.
func TestNothing(t *testing.T) {
	x, err := outlets.Open(outlets.Options{})
	require.NoError(t, err)
	x.Iterated(run.Iteration{}, 1)
	require.Empty(t, x.URL())
	require.NoError(t, x.Close())
}
