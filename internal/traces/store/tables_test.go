package store_test

import (
	"database/sql"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/traces/store"
	"github.com/merit-rl/merit/internal/traces/trace"
)

// Promise: what a write asks of rows by their keys is found by an index of
// SQLite: a store's size does not slow its writers down.
func TestNoScans(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.db")
	s, err := store.Open(t.Context(), "sqlite:"+path)
	require.NoError(t, err)
	require.NoError(t, s.Close())
	db, err := sql.Open("sqlite", "file:"+path)
	require.NoError(t, err)
	defer db.Close()
	for query, columns := range store.Keyed {
		key := map[int]string{1: "(CAST(? AS TEXT))", 2: "(CAST(? AS BIGINT),CAST(? AS TEXT))"}[columns]
		query = strings.Replace(query, "%s", "(VALUES "+key+","+key+")", 1)
		rows, err := db.QueryContext(t.Context(), "EXPLAIN QUERY PLAN "+query, make([]any, 2*columns)...)
		require.NoError(t, err, query)
		var steps []string
		for rows.Next() {
			var id, parent, unused int
			var step string
			require.NoError(t, rows.Scan(&id, &parent, &unused, &step))
			steps = append(steps, step)
		}
		require.NoError(t, errors.Join(rows.Err(), rows.Close()))
		plan := strings.Join(steps, "\n")
		require.Contains(t, plan, "SEARCH", query)
		require.NotRegexp(t, `(?m)^SCAN (s|m|r|traces|spans|messages|rewards)( |$)`, plan, query)
	}
}

// FuzzCursor: a place in a list comes from a URL. What is taken is a place that
// every database can be asked for.
func FuzzCursor(f *testing.F) {
	for _, s := range []string{"", ":", "1:a", "-4611686018427387904:t", "9999999999999999999:x", "1:\x00", "1:\xff", "1:a:b"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		_, id, err := store.ReadCursor(s)
		if err != nil {
			require.ErrorIs(t, err, fault.Of(fault.Data, fault.Invalid))
			return
		}
		require.LessOrEqual(t, len(id), trace.MaxID)
		require.True(t, utf8.ValidString(id))
		require.NotContains(t, id, "\x00")
	})
}
