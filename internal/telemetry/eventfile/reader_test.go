package eventfile

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/run"
)

func numbers(t *testing.T, path string) (all []Number, err error) {
	err = Read(path, func(x Number) error { all = append(all, x); return nil })
	return all, err
}

// Promise: scalars that torch's SummaryWriter wrote are read in both of its forms
// (testdata/summary_writer.py), and everything else in the file is not a number.
func TestReadsTorch(t *testing.T) {
	got, err := numbers(t, filepath.Join("testdata", "torch.tfevents"))
	require.NoError(t, err)
	want := []Number{{1, "train/reward", 0.25}, {1, "train/kl", -0.125}, {2, "train/reward", 0.5}, {2, "train/kl", -0.25}, {3, "train/reward", 0.75}, {3, "train/kl", -0.375}}
	require.Equal(t, want, got)
}

// Promise: what a run writes can be read again.
func TestReadsOwn(t *testing.T) {
	w, err := Open(t.TempDir(), nil)
	require.NoError(t, err)
	w.now = func() time.Time { return time.Unix(1000, 0) }
	w.Began(nil, 2)
	w.Iterated(run.Iteration{Iteration: 1, EnvSteps: 5}, 2)
	require.NoError(t, w.Close())
	files, err := filepath.Glob(filepath.Join(w.dir, "*"))
	require.NoError(t, err)
	got, err := numbers(t, files[0])
	require.NoError(t, err)
	require.Contains(t, got, Number{1, "env_steps", 5})
}

// Promise: a file that is cut off at any byte, as while it is written, gives the scalars before the cut; one
// with any other byte is refused by its checksums, with its record.
func TestDamagedFiles(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("testdata", "torch.tfevents"))
	require.NoError(t, err)
	whole, err := numbers(t, filepath.Join("testdata", "torch.tfevents"))
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "x.tfevents")
	for i := range text {
		require.NoError(t, os.WriteFile(path, text[:i], 0o600))
		got, err := numbers(t, path)
		require.NoError(t, err)
		require.Equal(t, whole[:len(got)], append([]Number{}, got...))
		damaged := bytes.Clone(text)
		damaged[i] ^= 4
		require.NoError(t, os.WriteFile(path, damaged, 0o600))
		_, err = numbers(t, path)
		require.Error(t, err, "byte %d", i)
		require.Contains(t, fault.As(err).Where, "record ")
	}
}

// Promise: no event makes the reader fail in another way than with an error.
func FuzzEvents(f *testing.F) {
	f.Add(scalarsEvent(1, 2, nil))
	f.Add(versionEvent(1))
	f.Fuzz(func(t *testing.T, event []byte) {
		_ = scalars(event, func(Number) error { return nil })
	})
}
