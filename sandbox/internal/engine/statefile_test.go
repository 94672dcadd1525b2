package engine

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/sandbox/internal/engine/memory"
	"github.com/merit-rl/merit/sandbox/internal/engine/wasi"
)

func sampleState(t testing.TB, content []byte) *State {
	s := &State{globals: []uint64{1, 1 << 63}, system: wasi.State{Elapsed: 5, Random: 7}}
	if content != nil {
		var err error
		s.memory, err = memory.TakeImage(content)
		require.NoError(t, err)
	}
	t.Cleanup(s.Close)
	return s
}

// encoded joins the pieces of a state.
func encoded(s *State) ([]byte, bool) {
	pieces, ok := s.Pieces()
	return bytes.Join(pieces, nil), ok
}

// Promise: a state that was written is read as it was.
func TestStateFile(t *testing.T) {
	content := make([]byte, 3*memory.PageBytes)
	content[0], content[2*memory.PageBytes+5000], content[3*memory.PageBytes-1] = 1, 2, 3
	for name, content := range map[string][]byte{"none": nil, "empty": {}, "three pages": content} {
		t.Run(name, func(t *testing.T) {
			s := sampleState(t, content)
			out, ok := encoded(s)
			require.True(t, ok)
			require.LessOrEqual(t, len(out), 6*8+3*(2*8+memory.ImagePage))
			got, err := ParseState(out)
			require.NoError(t, err)
			defer got.Close()
			require.Equal(t, s.globals, got.globals)
			require.Equal(t, s.system, got.system)
			require.Equal(t, s.memory == nil, got.memory == nil)
			if s.memory != nil {
				require.Equal(t, s.memory.Data, got.memory.Data)
			}
		})
	}
}

// opener is a guest whose memory holds the path "f".
type opener struct {
	wasi.Guest
	memory [16]byte
}

func (o *opener) Bytes(ptr, size uint32) ([]byte, bool) { return o.memory[ptr : ptr+size], true }
func (o *opener) Charge(uint64)                         {}

// Promise: a state with an open file is not written; once the file is closed
// it is.
func TestStateFileHasNoOpenFiles(t *testing.T) {
	s := sampleState(t, nil)
	w := wasi.World{Guest: &opener{memory: [16]byte{'f'}}, Process: &Process{Files: NewFiles(map[string][]byte{"f": nil})}, State: s.system}
	call := func(name string, stack ...uint64) {
		for _, f := range wasi.Functions() {
			if f.Name == name {
				f.Call(&w, stack)
				require.Zero(t, stack[0], name)
			}
		}
	}
	call("path_open", 3, 0, 0, 1, 0, 0, 0, 0, 8)
	s.system = w.State.Clone()
	_, ok := encoded(s)
	require.False(t, ok)
	call("fd_close", 4)
	s.system = w.State.Clone()
	_, ok = encoded(s)
	require.True(t, ok)
}

// FuzzParseState holds that any bytes are an error or a state that is written
// and read again.
func FuzzParseState(f *testing.F) {
	content := make([]byte, memory.PageBytes)
	content[9] = 1
	for _, c := range [][]byte{nil, {}, content} {
		out, _ := encoded(sampleState(f, c))
		f.Add(out)
		f.Add(out[:len(out)-1])
	}
	f.Add(make([]byte, 32))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := ParseState(data)
		if err != nil || s.memory != nil && s.memory.Size() > 16*memory.PageBytes {
			return
		}
		defer s.Close()
		out, ok := encoded(s)
		require.True(t, ok)
		again, err := ParseState(out)
		require.NoError(t, err)
		defer again.Close()
		require.Equal(t, s.globals, again.globals)
		if s.memory != nil {
			require.Equal(t, s.memory.Data, again.memory.Data)
		}
	})
}
