package command_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/internal/cli/exit"
)

// Promise: check reports the digest of what it checked, and fails if the module is
// replaced during the check.
func TestCheckedIsWhatWasLoaded(t *testing.T) {
	testneeds.NotShort(t)
	first, err := os.ReadFile(filepath.Join(testneeds.Root(), "sdk/conformance/testdata/guests/c/answer.wasm"))
	require.NoError(t, err)
	second := append(bytes.Clone(first), 0, 2, 1, 'x') // a custom section, which does not change the behavior
	path := filepath.Join(t.TempDir(), "answer.wasm")
	put := func(wasm []byte) error {
		if err := os.WriteFile(path+".new", wasm, 0o600); err != nil {
			return err
		}
		return os.Rename(path+".new", path)
	}
	check := func() (int, string) {
		c := newConsole()
		return c.Run(context.Background(), []string{"reward", "check", path}), c.out.String() + c.err.String()
	}
	require.NoError(t, put(first))
	code, said := check()
	require.Zero(t, code, said)
	require.Contains(t, said, fmt.Sprintf("\nchecked answer sha256:%x\n", sha256.Sum256(first)))

	stop, stopped := make(chan struct{}), make(chan error)
	go func() {
		for n := 0; ; n++ {
			select {
			case <-stop:
				stopped <- nil
				return
			case <-time.After(time.Millisecond):
			}
			if err := put([][]byte{first, second}[n%2]); err != nil {
				stopped <- err
				return
			}
		}
	}()
	for start := time.Now(); code == 0 && time.Since(start) < time.Minute; {
		code, said = check()
	}
	close(stop)
	require.NoError(t, <-stopped)
	require.Equal(t, exit.Reward.Number, code, said)
	require.Contains(t, said, "the reward was replaced during the check: sha256:")
}
