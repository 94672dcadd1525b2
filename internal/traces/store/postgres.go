package store

import (
	"cmp"
	"context"
	"database/sql"
	_ "embed"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/merit-rl/merit/core/fault"
)

//go:embed schema/postgres-1.sql
var postgresSchema string

// schemaName is where the tables lie unless the address says otherwise.
const schemaName = "merit_traces"

// mark is the comment by which our tables are known.
const mark = "traces of merit"

// lock is the number of the lock that writers hold: "MeritTrc".
const lock = 0x4d65726974547263

// connections are how many of one process read at a time.
const connections = 8

// openPostgres opens the store in the database of a postgres:// URL, in which many
// machines write and read, and makes its tables if they are not there: in a schema
// of their own, merit_traces unless search_path names another. A schema with
// tables of another program, or of a newer Merit, is refused.
func openPostgres(ctx context.Context, url string) (*Store, error) {
	config, err := pgx.ParseConfig(url)
	if err != nil {
		// The error of the driver does not hold the password.
		return nil, &fault.Error{Boundary: fault.Config, Kind: fault.Invalid, Where: "store", What: "this is no address of a Postgres database", Hint: "write postgres://USER:PASSWORD@HOST:PORT/DATABASE", Err: err}
	}
	p := config.RuntimeParams
	p["search_path"] = cmp.Or(p["search_path"], schemaName)
	p["application_name"] = cmp.Or(p["application_name"], "merit")
	p["timezone"] = "UTC"
	if strings.ContainsAny(p["search_path"], ", \"\x00") {
		return nil, &fault.Error{Boundary: fault.Config, Kind: fault.Invalid, Where: "store", What: fmt.Sprintf("search_path is %.64q, which is not the name of one schema", p["search_path"]), Hint: "name one schema without quotes"}
	}
	write, read := stdlib.OpenDB(*config), stdlib.OpenDB(*config)
	write.SetMaxOpenConns(1)
	read.SetMaxOpenConns(connections)
	read.SetMaxIdleConns(connections)
	return open(ctx, write, read, &dialect{
		where:      "postgres://" + net.JoinHostPort(config.Host, strconv.Itoa(int(config.Port))) + "/" + config.Database,
		migrations: []string{"CREATE SCHEMA IF NOT EXISTS " + pgx.Identifier{p["search_path"]}.Sanitize() + ";\n" + postgresSchema},
		lock:       fmt.Sprintf("SELECT pg_advisory_xact_lock(%d)", lock),
		numbered:   true, bytes: "BYTEA",
		// Sums of decimal numbers do not depend on their order.
		sum:  "CAST(sum(CAST(t.reward AS numeric)) AS double precision)",
		view: &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true},
		empty: func(ctx context.Context, q querier) (bool, error) {
			return postgresEmpty(ctx, q, p["search_path"])
		},
		fault: postgresFault,
	})
}

// postgresEmpty reports whether the schema has no tables.
func postgresEmpty(ctx context.Context, q querier, schema string) (bool, error) {
	var objects, ours int
	err := q.QueryRowContext(ctx, `SELECT count(*), count(*) FILTER (WHERE c.relname='state' AND obj_description(c.oid, 'pg_class')=$2)
		FROM pg_class c JOIN pg_namespace s ON s.oid=c.relnamespace WHERE s.nspname=$1 AND c.relkind IN ('r','p','v','m')`, schema, mark).Scan(&objects, &ours)
	if err == nil && objects > 0 && ours == 0 {
		err = &fault.Error{Boundary: fault.Storage, Kind: fault.Refused, Where: "schema " + schema, What: "it has tables of another program", Hint: "name another schema: add ?search_path=NAME to the address"}
	}
	return objects == 0, err
}

// postgresFault says what the errors that users meet mean.
func postgresFault(err error) *fault.Error {
	var said *pgconn.PgError
	var connect *pgconn.ConnectError
	switch {
	case errors.As(err, &said):
		return explainCode(said.Code)
	case errors.As(err, &connect), errors.Is(err, net.ErrClosed), pgconn.SafeToRetry(err):
		return &fault.Error{Kind: fault.Missing, What: "the server does not answer", Hint: "see that it runs and that the address is right", Retry: true}
	}
	return nil
}

func explainCode(code string) *fault.Error {
	switch {
	case strings.HasPrefix(code, "28"):
		return &fault.Error{Kind: fault.Refused, What: "the server does not let this user in", Hint: "see user and password in the address"}
	case code == "3D000":
		return &fault.Error{Kind: fault.Missing, What: "the server has no database of this name", Hint: "make it: createdb NAME"}
	case code == "42501":
		return &fault.Error{Kind: fault.Refused, What: "this user may not do that", Hint: "GRANT CREATE ON DATABASE, or let its owner open the store once"}
	case strings.HasPrefix(code, "53"):
		return &fault.Error{Kind: fault.Exhausted, What: "the server has no more room", Hint: "make room, allow more connections, or remove old traces", Retry: true}
	case strings.HasPrefix(code, "57P"), strings.HasPrefix(code, "08"):
		return &fault.Error{Kind: fault.Crashed, What: "the server went away", Hint: "try again when it is back", Retry: true}
	}
	return nil
}
