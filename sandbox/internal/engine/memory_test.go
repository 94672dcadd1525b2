package engine

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// memories are the ways to keep a guest's memory that this machine has.
func memories(limit uint64) map[string]linear {
	list := map[string]linear{"copied": newCopied(limit)}
	if m := new(Engine).newLinear(limit); isMapped(m) {
		list["mapped"] = m
	}
	return list
}

// keep takes an image of a memory and lets it begin there.
func keep(t *testing.T, m linear) {
	t.Helper()
	i, err := takeImage(m.bytes())
	require.NoError(t, err)
	t.Cleanup(i.close)
	require.NoError(t, m.adopt(i))
}

func isMapped(l linear) bool {
	_, portable := l.(*copied)
	return !portable
}

// Promise: whatever was written and however far the memory grew, restore
// brings the bytes and the size of the snapshot back, and what lies behind is
// zero again.
func TestRestoreBringsEverythingBack(t *testing.T) {
	const snapshot, most = 40 * pageBytes, 48 * pageBytes
	for name, m := range memories(most) {
		t.Run(name, func(t *testing.T) {
			defer m.Free()
			random := rand.New(rand.NewPCG(1, 2))
			buf := m.Reallocate(snapshot)
			for range 200 {
				buf[random.IntN(len(buf))] = byte(random.Uint32())
			}
			want := append([]byte(nil), buf...)
			keep(t, m)
			buf = m.Reallocate(snapshot)
			require.Equal(t, want, buf)
			for round := range 72 { // past the rounds after which pages are given back
				pages := snapshot/pageBytes + random.IntN(8)
				buf = m.Reallocate(uint64(pages) * pageBytes)
				for _, b := range buf[snapshot:] {
					if b != 0 {
						t.Fatal("memory behind the snapshot is not zero")
					}
				}
				for range 1 + random.IntN(40) {
					buf[random.IntN(len(buf))] = byte(random.Uint32())
				}
				if round%3 == 0 {
					for at := 0; at < len(buf); at += 1024 { // dirty everything
						buf[at]++
					}
				}
				size, err := m.restore()
				require.NoError(t, err)
				require.EqualValues(t, snapshot, size)
				require.True(t, string(want) == string(m.Reallocate(snapshot)), "round %d", round)
			}
		})
	}
}

// Promise: a growth beyond the limit is refused and remembered until the next
// evaluation.
func TestMemoryLimit(t *testing.T) {
	for name, m := range memories(2 * pageBytes) {
		t.Run(name, func(t *testing.T) {
			defer m.Free()
			require.Len(t, m.Reallocate(2*pageBytes), 2*pageBytes)
			require.False(t, m.denied())
			require.Nil(t, m.Reallocate(3*pageBytes))
			require.True(t, m.denied())
			m.forget()
			require.False(t, m.denied())
		})
	}
}

// Promise: a memory without pages can be kept and restored too.
func TestEmptyMemory(t *testing.T) {
	for name, m := range memories(4 * pageBytes) {
		t.Run(name, func(t *testing.T) {
			defer m.Free()
			m.Reallocate(0)
			keep(t, m)
			size, err := m.restore()
			require.NoError(t, err)
			require.Zero(t, size)
		})
	}
}

// Promise: memories that begin with one image do not see what the others
// write, and the image stays as it was.
func TestImageIsShared(t *testing.T) {
	const size, most = 4 * pageBytes, 8 * pageBytes
	for name, first := range memories(most) {
		t.Run(name, func(t *testing.T) {
			defer first.Free()
			copy(first.Reallocate(size)[pageBytes:], "origin")
			i, err := takeImage(first.bytes())
			require.NoError(t, err)
			defer i.close()
			require.NoError(t, first.adopt(i))
			second := memories(most)[name]
			defer second.Free()
			second.Reallocate(size)
			require.NoError(t, second.adopt(i))
			_, err = second.restore()
			require.NoError(t, err)
			require.Equal(t, first.bytes(), second.bytes())
			copy(first.bytes()[pageBytes:], "first")
			copy(second.bytes()[pageBytes:], "second")
			require.Equal(t, "first", string(first.bytes()[pageBytes:pageBytes+5]))
			for _, m := range []linear{first, second} {
				_, err = m.restore()
				require.NoError(t, err)
				require.Equal(t, "origin", string(m.bytes()[pageBytes:pageBytes+6]))
			}
		})
	}
}
