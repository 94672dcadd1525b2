package store

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/url"
	"strconv"
	"strings"

	"github.com/lib/pq"

	"github.com/merit-rl/merit/core/fault"
)

//go:embed schema/postgres-1.sql
var postgresSchema string

//go:embed schema/postgres-2.sql
var postgresFigures string

// schemaName is the default schema of the tables.
const schemaName = "merit_traces"

// mark is the comment that identifies Merit's tables.
const mark = "traces of merit"

// lock is the number of the lock that writers hold: "MeritTrc".
const lock = 0x4d65726974547263

// connections is the number of connections for reading per process.
const connections = 8

// openPostgres opens the store in the database of a postgres:// URL, which many
// machines can share. It creates its tables if they do not exist, in a separate
// schema: merit_traces unless search_path names another. It refuses a schema with
// tables of another program, or of a newer Merit.
func openPostgres(ctx context.Context, address string) (*Store, error) {
	config, err := pq.NewConfig(address)
	if err != nil {
		if errors.As(err, new(*url.Error)) {
			err = nil // it contains the password
		}
		return nil, &fault.Error{Boundary: fault.Config, Kind: fault.Invalid, Where: "store", What: "this is not a valid Postgres URL", Hint: "use postgres://USER:PASSWORD@HOST:PORT/DATABASE", Err: err}
	}
	schema := cmp.Or(config.Runtime["search_path"], schemaName)
	if strings.ContainsAny(schema, ", \"\x00") {
		return nil, &fault.Error{Boundary: fault.Config, Kind: fault.Invalid, Where: "store", What: fmt.Sprintf("search_path is %.64q, which is not the name of one schema", schema), Hint: "set search_path to one schema, without quotes"}
	}
	write, read, err := connect(config, schema)
	if err != nil {
		return nil, err
	}
	return open(ctx, write, read, &dialect{
		where:      "postgres://" + net.JoinHostPort(config.Host, strconv.Itoa(int(config.Port))) + "/" + config.Database,
		migrations: []string{"CREATE SCHEMA IF NOT EXISTS " + pq.QuoteIdentifier(schema) + ";\n" + postgresSchema, postgresFigures},
		lock:       fmt.Sprintf("SELECT pg_advisory_xact_lock(%d)", lock),
		numbered:   true, bytes: "BYTEA",
		// The sum of decimal numbers does not depend on their order.
		sum:   "CAST(sum(CAST(t.reward AS numeric)) AS double precision)",
		likes: "ILIKE",
		// jsonb cannot hold the character 0.
		inString: `CASE WHEN position('\u0000' in x.body)>0 THEN true ELSE EXISTS (SELECT 1 FROM jsonb_path_query(x.body::jsonb,'$.**') v WHERE jsonb_typeof(v)='string' AND v#>>'{}' ILIKE ? ESCAPE '!') END`,
		view:     &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true},
		empty: func(ctx context.Context, q querier) (bool, error) {
			return postgresEmpty(ctx, q, schema)
		},
		fault: postgresFault,
	})
}

// connect returns the connections for writing and for reading. As with psql, they are
// encrypted if the server can do so, unless sslmode says otherwise.
func connect(config pq.Config, schema string) (write, read *sql.DB, err error) {
	if config.SSLMode == "" {
		config.SSLMode = pq.SSLModePrefer
	}
	config.Runtime = maps.Clone(config.Runtime)
	if config.Runtime == nil {
		config.Runtime = map[string]string{}
	}
	config.Runtime["search_path"], config.Runtime["timezone"] = schema, "UTC"
	config.ApplicationName = cmp.Or(config.ApplicationName, "merit")
	config.BinaryParameters = true // one round trip for a query
	connector, err := pq.NewConnectorConfig(config)
	if err != nil {
		return nil, nil, err
	}
	write, read = sql.OpenDB(connector), sql.OpenDB(connector)
	write.SetMaxOpenConns(1)
	read.SetMaxOpenConns(connections)
	read.SetMaxIdleConns(connections)
	return write, read, nil
}

// postgresEmpty reports whether the schema has no tables.
func postgresEmpty(ctx context.Context, q querier, schema string) (bool, error) {
	var objects, ours int
	err := q.QueryRowContext(ctx, `SELECT count(*), count(*) FILTER (WHERE c.relname='state' AND obj_description(c.oid, 'pg_class')=$2)
		FROM pg_class c JOIN pg_namespace s ON s.oid=c.relnamespace WHERE s.nspname=$1 AND c.relkind IN ('r','p','v','m')`, schema, mark).Scan(&objects, &ours)
	if err == nil && objects > 0 && ours == 0 {
		err = &fault.Error{Boundary: fault.Storage, Kind: fault.Refused, Where: "schema " + schema, What: "the schema has tables of another program", Hint: "use another schema: add ?search_path=NAME to the address"}
	}
	return objects == 0, err
}

// postgresFault explains the errors that users are likely to see.
func postgresFault(err error) *fault.Error {
	var network net.Error
	switch said := pq.As(err); {
	case said != nil:
		return explainCode(string(said.Code))
	case errors.As(err, &network), errors.Is(err, net.ErrClosed), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, driver.ErrBadConn):
		return &fault.Error{Kind: fault.Missing, What: "the server does not answer", Hint: "check that the server is running and that the address is correct", Retry: true}
	}
	return nil
}

func explainCode(code string) *fault.Error {
	switch {
	case strings.HasPrefix(code, "28"):
		return &fault.Error{Kind: fault.Refused, What: "the server rejected the user name or password", Hint: "check the user and password in the address"}
	case code == "3D000":
		return &fault.Error{Kind: fault.Missing, What: "the server has no database with this name", Hint: "create it: createdb NAME"}
	case code == "42501":
		return &fault.Error{Kind: fault.Refused, What: "the user lacks a required privilege", Hint: "GRANT CREATE ON DATABASE to the user, or open the store once as the owner of the database"}
	case strings.HasPrefix(code, "53"):
		return &fault.Error{Kind: fault.Exhausted, What: "the server is out of disk space or connections", Hint: "free disk space, allow more connections, or remove old traces", Retry: true}
	case strings.HasPrefix(code, "57P"), strings.HasPrefix(code, "08"):
		return &fault.Error{Kind: fault.Crashed, What: "the connection to the server was lost", Hint: "retry when the server is back", Retry: true}
	}
	return nil
}
