package local

import (
	"bytes"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Promise: a caller that waits for a compilation is informed: at once if the
// module is large, and later if a small one turns out to be slow. Nothing is
// logged for a compilation that ends before that.
func TestWhoWaitsForTheCompilerIsTold(t *testing.T) {
	var becomesSlow func()
	stopped := 0
	before := after
	after = func(_ time.Duration, f func()) func() bool {
		becomesSlow = f
		return func() bool { stopped++; return true }
	}
	t.Cleanup(func() { after = before })
	var log bytes.Buffer
	o := Options{Logger: slog.New(slog.NewTextHandler(&log, nil))}

	o.compiling("an interpreter", large)()
	require.Contains(t, log.String(), "compiling an interpreter (2.0 MiB) for each start: about 2 s of CPU time; the result is not cached, because the cache is off")
	require.Nil(t, becomesSlow)

	log.Reset()
	o.CacheDir = "cache"
	done := o.compiling("", large/2)
	require.Empty(t, log.String())
	becomesSlow()
	require.Contains(t, log.String(), "compiling a module (1.0 MiB) for this machine, once: about 1 s of CPU time; the result is cached in cache")
	done()
	require.Equal(t, 1, stopped)
}
