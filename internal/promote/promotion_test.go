package promote

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/run"
)

// Promise: what plays is the checkpoint that was promoted, not one that was put
// in its place.
func TestHolds(t *testing.T) {
	s := &State{Current: 1, Versions: []Version{{Number: 1, Checkpoint: "sha256:a"}, {Number: 2, Checkpoint: "sha256:b"}}}
	require.NoError(t, s.holds(&run.Checkpoint{Digest: "sha256:a"}))
	err := s.holds(&run.Checkpoint{Digest: "sha256:b"})
	require.ErrorIs(t, err, fault.Of(fault.Storage, fault.Corrupt))
	require.ErrorContains(t, err, "contains checkpoint sha256:b, but sha256:a was promoted")
}

// Promise: a state that names no version of its list, or a share that is none, is
// refused.
func TestForgedState(t *testing.T) {
	dir := t.TempDir()
	for text, good := range map[string]bool{
		`{"format":1,"current":0,"share":0}`: true, `{"format":1,"current":1,"share":0}`: false, `{"format":1,"current":-1,"share":0}`: false,
		`{"format":1,"share":1.5}`: false, `{"format":2}`: false, `{"format":1,"current":"../x"}`: false, `[`: false,
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, stateFile), []byte(text), 0o600))
		_, err := Read(dir)
		require.Equal(t, good, err == nil, text)
	}
}
