package scoring

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/rl"
)

// Promise: records follow each other without a tear even after a write that
// failed half way, as on a disk that was full for a moment.
func TestFlushAfterHalfAWrite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "part")
	f, err := os.Create(path)
	require.NoError(t, err)
	defer f.Close()
	j := &journal{path: path, file: f}
	require.NoError(t, j.begin([]byte("header\n")))
	j.flushed = j.synced // now: the next record waits
	require.NoError(t, j.add(item{Trajectory: &rl.Trajectory{}}, []byte(`{"id":"a"}`)))
	_, err = f.Seek(j.end, io.SeekStart)
	require.NoError(t, err)
	_, err = f.Write(j.buffer[:10])
	require.NoError(t, err)
	require.NoError(t, j.flush())
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Regexp(t, "^header\n[0-9a-f]{8} 0000000000000000 {\"id\":\"a\"}\n$", string(text))
}
