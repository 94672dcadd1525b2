package sqlite_test

import (
	"path/filepath"
	"testing"

	"github.com/merit-rl/merit/core/trace/store/sqlite"
	"github.com/merit-rl/merit/core/trace/store/storetest"
)

func TestMain(m *testing.M) { storetest.Main(m, sqlite.Open) }

// Promise: a file of SQLite keeps traces as every store does.
func TestContract(t *testing.T) {
	storetest.Run(t, func(t *testing.T) string { return filepath.Join(t.TempDir(), "what is it? #1 %41.db") }, sqlite.Open)
}
