package sqlite_test

import (
	"cmp"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/trace/store"
	"github.com/merit-rl/merit/core/trace/store/sqlite"
	"github.com/merit-rl/merit/core/trace/store/storetest"
)

func TestMain(m *testing.M) { storetest.Main(m, sqlite.Open) }

// Promise: a file of SQLite keeps traces as every store does.
func TestContract(t *testing.T) {
	storetest.Run(t, func(t *testing.T) string { return filepath.Join(t.TempDir(), "what is it? #1 %41.db") }, sqlite.Open)
}

// file opens a store for a benchmark: a new one, or the one that
// storetest.FileVariable names.
func file(b *testing.B, path string) store.Store {
	b.Helper()
	s, err := sqlite.Open(b.Context(), cmp.Or(path, filepath.Join(b.TempDir(), "t.db")))
	require.NoError(b, err)
	b.Cleanup(func() { s.Close() })
	return s
}

func BenchmarkWrite(b *testing.B)     { storetest.BenchmarkWrite(b, file(b, "")) }
func BenchmarkWriteEach(b *testing.B) { storetest.BenchmarkWriteEach(b, file(b, "")) }
func BenchmarkQueries(b *testing.B) {
	storetest.BenchmarkQueries(b, file(b, os.Getenv(storetest.FileVariable)))
}
