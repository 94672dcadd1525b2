package wasi

import (
	"bytes"
	"io"
	"testing"

	"github.com/stretchr/testify/require"
)

// Promise: a state with open files is read as it was written, with the files of the
// process that reads it; what is not such a state is an error.
func TestStateFile(t *testing.T) {
	tree := func() *Files { return NewFiles(map[string][]byte{"a/b": []byte("text"), "c": nil}) }
	f := tree()
	b, errno := f.root.walk("a/b")
	require.Zero(t, errno)
	s := State{Elapsed: 5, Random: 1 << 63, open: []handle{{node: f.root}, {}, {node: b, offset: 3}}}
	data := s.Append(nil)
	read := func(data []byte, f *Files) (State, error) {
		in := bytes.NewReader(data)
		return ReadState(func(b []byte) error { _, err := io.ReadFull(in, b); return err }, f)
	}
	other := tree()
	require.Equal(t, f.sum(), other.sum())
	got, err := read(data, other)
	require.NoError(t, err)
	require.Equal(t, s.Elapsed, got.Elapsed)
	require.Equal(t, s.Random, got.Random)
	require.Len(t, got.open, 3)
	require.Same(t, other.root, got.open[0].node)
	require.Equal(t, handle{}, got.open[1])
	require.Equal(t, uint64(3), got.open[2].offset)
	require.Equal(t, "text", string(got.open[2].node.data))
	require.Equal(t, data, got.Append(nil))

	_, err = read(data, nil)
	require.ErrorIs(t, err, ErrState)
	_, err = read(data, NewFiles(nil))
	require.ErrorIs(t, err, ErrState)
	many := State{open: make([]handle, maxHandles+1)}
	_, err = read(many.Append(nil), f)
	require.ErrorIs(t, err, ErrState)
	for n := range data {
		_, err = read(data[:n], f)
		require.Error(t, err)
	}
	require.NotEqual(t, f.sum(), NewFiles(map[string][]byte{"a/b": []byte("test"), "c": nil}).sum())
	require.NotEqual(t, f.sum(), NewFiles(map[string][]byte{"a/b": []byte("text"), "d": nil}).sum())
}

// Promise: files that were opened and closed leave nothing in a state: it is the same as if they had
// never been open, and as what an earlier process kept of it.
func TestClosedFilesLeaveNothing(t *testing.T) {
	f := NewFiles(map[string][]byte{"a": nil})
	w := &World{Process: &Process{Files: f}, State: NewState()}
	before := w.State.Append(nil)
	first, ok := w.open(f.root)
	require.True(t, ok)
	second, ok := w.open(f.root)
	require.True(t, ok)
	require.Zero(t, fdClose(w, []uint64{uint64(first)}))
	require.True(t, w.State.HasOpen())
	again, ok := w.open(f.root)
	require.True(t, ok)
	require.Equal(t, first, again, "the lowest free descriptor")
	require.Zero(t, fdClose(w, []uint64{uint64(again)}))
	require.Zero(t, fdClose(w, []uint64{uint64(second)}))
	require.Equal(t, before, w.State.Append(nil))
}
