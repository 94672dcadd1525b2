package engine

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func sampleState(t testing.TB, memory []byte) *State {
	s := &State{globals: []uint64{1, 1 << 63}, system: system{elapsed: 5, random: 7}}
	if memory != nil {
		var err error
		s.memory, err = takeImage(memory)
		require.NoError(t, err)
	}
	t.Cleanup(s.Close)
	return s
}

// Promise: a state that was written is read as it was; one with open files is
// not written.
func TestStateFile(t *testing.T) {
	memory := make([]byte, 3*pageBytes)
	memory[0], memory[2*pageBytes+5000], memory[3*pageBytes-1] = 1, 2, 3
	for name, content := range map[string][]byte{"none": nil, "empty": {}, "three pages": memory} {
		t.Run(name, func(t *testing.T) {
			s := sampleState(t, content)
			out, ok := s.Append(nil)
			require.True(t, ok)
			require.LessOrEqual(t, len(out), 6*8+3*(8+statePage))
			got, err := ParseState(out)
			require.NoError(t, err)
			defer got.Close()
			require.Equal(t, s.globals, got.globals)
			require.Equal(t, s.system, got.system)
			require.Equal(t, s.memory == nil, got.memory == nil)
			if s.memory != nil {
				require.Equal(t, s.memory.data, got.memory.data)
			}
		})
	}
	s := sampleState(t, nil)
	s.system.open = []handle{{}}
	_, ok := s.Append(nil)
	require.True(t, ok)
	s.system.open = []handle{{}, {node: &node{}}}
	_, ok = s.Append(nil)
	require.False(t, ok)
}

// FuzzParseState holds that any bytes are an error or a state that is written
// and read again.
func FuzzParseState(f *testing.F) {
	memory := make([]byte, pageBytes)
	memory[9] = 1
	for _, content := range [][]byte{nil, {}, memory} {
		out, _ := sampleState(f, content).Append(nil)
		f.Add(out)
		f.Add(out[:len(out)-1])
	}
	f.Add(make([]byte, 32))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := ParseState(data)
		if err != nil || s.memory != nil && s.memory.size() > 16*pageBytes {
			return
		}
		defer s.Close()
		out, ok := s.Append(nil)
		require.True(t, ok)
		again, err := ParseState(out)
		require.NoError(t, err)
		defer again.Close()
		require.Equal(t, s.globals, again.globals)
		if s.memory != nil {
			require.Equal(t, s.memory.data, again.memory.data)
		}
	})
}
