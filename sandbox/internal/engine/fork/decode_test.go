package fork

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

// Promise: points that were written are read as they were, each page once, and the
// bytes depend on the states alone, not on how they came to share pages.
func TestFile(t *testing.T) {
	o, points := tree(t)
	data := encoded(t, o, points)
	got, err := Decode(bytes.NewReader(data), o, 1<<20)
	require.NoError(t, err)
	require.Len(t, got, len(points))
	m := sample(t)[1]
	for n, p := range points {
		if p == nil {
			require.Nil(t, got[n])
			continue
		}
		require.Equal(t, p.Globals, got[n].Globals)
		require.Equal(t, p.System, got[n].System)
		set(t, m, p.Pages)
		want := bytes.Clone(m.Bytes())
		set(t, m, got[n].Pages)
		require.True(t, bytes.Equal(want, m.Bytes()))
		alone, err := Diff(m, nil) // shares nothing
		require.NoError(t, err)
		points[n] = &Point{Origin: o, Globals: p.Globals, System: p.System, Pages: alone}
	}
	require.Equal(t, data, encoded(t, o, got))
	require.Equal(t, data, encoded(t, o, points))
	require.ErrorIs(t, Encode(new(bytes.Buffer), &Origin{}, points), ErrForeign)
}

// Promise: whatever is wrong with a file is an error of a known kind: no byte can be
// missing, added or changed.
func TestFileIsChecked(t *testing.T) {
	o, points := tree(t)
	data := encoded(t, o, points)
	decode := func(data []byte, o *Origin, most int64) error {
		_, err := Decode(bytes.NewReader(data), o, most)
		return err
	}
	for n := range data {
		require.ErrorIs(t, decode(data[:n], o, 1<<20), ErrTruncated, "%d bytes", n)
	}
	for n := range data {
		data[n] ^= 0x55
		err := decode(data, o, 1<<20)
		data[n] ^= 0x55
		require.True(t, known(err), "byte %d: %v", n, err)
	}
	require.ErrorIs(t, decode(append(bytes.Clone(data), 0), o, 1<<20), ErrCorrupt)
	require.ErrorIs(t, decode(data, &Origin{}, 1<<20), ErrForeign)
	other := bytes.Clone(data)
	other[len(magic)]++
	require.ErrorIs(t, decode(other, o, 1<<20), ErrVersion)
	require.ErrorIs(t, decode([]byte("not forks at all"), o, 1<<20), ErrCorrupt)
	require.ErrorIs(t, decode(data, o, 1000), ErrTooLarge)
	content := bytes.Clone(data)
	content[len(content)-sha256.Size-1] ^= 1 // in the last page
	require.ErrorIs(t, decode(content, o, 1<<20), ErrCorrupt)
}

func known(err error) bool {
	for _, kind := range []error{ErrVersion, ErrForeign, ErrTruncated, ErrCorrupt, ErrTooLarge} {
		if errors.Is(err, kind) {
			return true
		}
	}
	return false
}

// FuzzDecode holds that any bytes are an error of a known kind, or points within the
// budget that are written and read again and can be set. The checksum is corrected, so
// that it does not reject everything.
func FuzzDecode(f *testing.F) {
	o, points := tree(f)
	data := encoded(f, o, points)
	data = data[:len(data)-sha256.Size]
	f.Add(data)
	f.Add(data[:len(data)/2])
	empty := encoded(f, o, nil)
	f.Add(empty[:len(empty)-sha256.Size])
	memories := sample(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		const most = 1 << 20
		sum := sha256.Sum256(data)
		got, err := Decode(bytes.NewReader(append(bytes.Clone(data), sum[:]...)), o, most)
		if err != nil {
			require.True(t, known(err), err)
			return
		}
		store := NewStore(most) // drops nothing
		for _, p := range got {
			if p == nil {
				continue
			}
			kept := store.Keep(p)
			_, err := kept.Point()
			require.NoError(t, err)
			if p.Pages.Size() >= smallest && p.Pages.Size() <= largest {
				set(t, memories[0], p.Pages)
			}
		}
		again := encoded(t, o, got)
		back, err := Decode(bytes.NewReader(again), o, most)
		require.NoError(t, err)
		require.Equal(t, again, encoded(t, o, back))
	})
}
