package columns_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/internal/data/columns"
)

// seeds are files that pyarrow wrote, of every encoding, codec and version of
// pages: testdata/seeds.py makes them.
func seeds(t testing.TB) map[string][]byte {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("testdata", "*.parquet"))
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	all := map[string][]byte{}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		all[filepath.Base(path)] = data
	}
	return all
}

// drain reads a file to its end: every error is a fault of the data, every row
// JSON, and their numbers follow each other.
func drain(t *testing.T, data []byte, most int) (rows, lost int) {
	f, err := columns.Open("fuzz.parquet", bytes.NewReader(data), int64(len(data)))
	if err != nil {
		require.ErrorIs(t, err, fault.Of(fault.Data, ""))
		return 0, 0
	}
	defer f.Close()
	next := 1
	for range most {
		row, err := f.Next()
		if errors.Is(err, io.EOF) {
			return rows, lost
		}
		require.NoError(t, err)
		require.Equal(t, next, row.Number)
		next++
		if row.Err != nil {
			require.ErrorIs(t, row.Err, fault.Of(fault.Data, ""))
			require.Positive(t, row.Lost)
			next += row.Lost - 1
			lost += row.Lost
			continue
		}
		require.True(t, json.Valid(row.Text), "%s", row.Text)
		rows++
	}
	return rows, lost
}

// Promise: no bytes make the reader of Parquet panic, read for ever or give out
// what is not JSON.
func FuzzParquet(f *testing.F) {
	for _, data := range seeds(f) {
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) { drain(t, data, 1000) })
}

// Promise: a file in which any byte is wrong, or which is cut anywhere, is read
// or refused with an error of the data; it never takes the process down.
func TestDamage(t *testing.T) {
	testneeds.NotShort(t)
	for name, data := range seeds(t) {
		t.Run(name, func(t *testing.T) {
			whole, _ := drain(t, data, 1000)
			require.Positive(t, whole)
			step := max(1, len(data)/400)
			for i := 0; i < len(data); i += step {
				for _, mask := range []byte{0x01, 0x80, 0xff} {
					damaged := bytes.Clone(data)
					damaged[i] ^= mask
					drain(t, damaged, 1000)
				}
				rows, lost := drain(t, data[:i], 1000)
				require.Zero(t, rows+lost, "the footer is at the end")
			}
		})
	}
}
