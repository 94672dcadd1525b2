package store_test

import (
	"database/sql"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/internal/traces/store"
	"github.com/merit-rl/merit/internal/traces/trace"
)

// Promise: a Postgres server keeps traces as every store does; what is not
// ours is refused, and errors say what to do and hold no password.
func TestPostgres(t *testing.T) {
	server := testneeds.Postgres(t)
	var schemas atomic.Int32
	fresh := func(*testing.T) string { return fmt.Sprintf("%s&search_path=s%d", server, schemas.Add(1)) }
	contract(t, fresh)

	db, err := sql.Open("postgres", server)
	require.NoError(t, err)
	defer db.Close()

	t.Run("tables of another program", func(t *testing.T) {
		_, err := db.ExecContext(t.Context(), "CREATE SCHEMA theirs; CREATE TABLE theirs.state (version BIGINT)")
		require.NoError(t, err)
		_, err = store.Open(t.Context(), server+"&search_path=theirs")
		require.ErrorIs(t, err, fault.Of(fault.Storage, fault.Refused))
		require.ErrorContains(t, err, "another program")
	})
	t.Run("a newer store", func(t *testing.T) {
		address := fresh(t)
		s, err := store.Open(t.Context(), address)
		require.NoError(t, err)
		require.NoError(t, s.Close())
		_, err = db.ExecContext(t.Context(), fmt.Sprintf("UPDATE s%d.state SET version=99", schemas.Load()))
		require.NoError(t, err)
		_, err = store.Open(t.Context(), address)
		require.ErrorIs(t, err, fault.Of(fault.Storage, fault.Refused))
		require.ErrorContains(t, err, "version 99")
	})
	t.Run("errors", func(t *testing.T) {
		_, err := store.Open(t.Context(), server+"&database=nowhere")
		require.ErrorIs(t, err, fault.Of(fault.Storage, fault.Missing))
		require.NotEmpty(t, fault.As(err).Hint)
		_, err = store.Open(t.Context(), "postgres://me:hunter2@127.0.0.1:1/x")
		require.ErrorIs(t, err, fault.Of(fault.Storage, fault.Missing))
		require.NotContains(t, err.Error(), "hunter2")
		_, err = store.Open(t.Context(), "postgres://me:hunter2@[x/x")
		require.ErrorIs(t, err, fault.Of(fault.Config, fault.Invalid))
		require.NotContains(t, err.Error(), "hunter2")
		_, err = store.Open(t.Context(), server+"&search_path=a,b")
		require.ErrorIs(t, err, fault.Of(fault.Config, fault.Invalid))
	})
	t.Run("a connection that dies", func(t *testing.T) {
		s, err := store.Open(t.Context(), fresh(t))
		require.NoError(t, err)
		defer s.Close()
		_, err = db.ExecContext(t.Context(), "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name='merit'")
		require.NoError(t, err)
		// Whether a call notices depends on when; that it can be done again does not.
		for {
			if err = s.Put(t.Context(), nil, []trace.About{{Trace: "t", Task: "sum"}}); err == nil {
				break
			}
			require.True(t, fault.Retryable(err), err)
		}
		x, err := s.Trace(t.Context(), "t")
		require.NoError(t, err)
		require.Equal(t, "sum", x.Task)
	})
}

func BenchmarkWritePostgres(b *testing.B) {
	s, err := store.Open(b.Context(), testneeds.Postgres(b))
	require.NoError(b, err)
	b.Cleanup(func() { s.Close() })
	benchmarkWrite(b, s)
}
