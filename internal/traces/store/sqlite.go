package store

import (
	"context"
	"database/sql"
	_ "embed"
	"errors"
	"fmt"
	"net/url"
	"os"
	"runtime"

	driver "modernc.org/sqlite"
	code "modernc.org/sqlite/lib"

	"github.com/merit-rl/merit/core/fault"
)

//go:embed schema/sqlite-1.sql
var sqliteSchema string

// application is the number by which SQLite's files say whose they are: "Mert".
const application = 0x4d657274

// openSQLite opens the store in a file, by a driver in pure Go: one process writes
// at a time, any number read meanwhile. What Put has acknowledged survives the
// death of the process and of the machine: the file is in WAL mode, and every
// transaction waits for the disk. A file that is not there is made; one of another
// program, or of a newer Merit, is refused.
func openSQLite(ctx context.Context, path string) (*Store, error) {
	// What agents said is for who records it; SQLite's other files are as open as
	// this one. Where it cannot be made, SQLite says why.
	if f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600); err == nil {
		_ = f.Close()
	}
	write, err := sql.Open("sqlite", sqliteAddress(path, "_txlock=immediate", "_pragma=auto_vacuum(incremental)", "_pragma=journal_mode(wal)", "_pragma=synchronous(full)"))
	if err != nil {
		return nil, err
	}
	write.SetMaxOpenConns(1)
	read, err := sql.Open("sqlite", sqliteAddress(path))
	if err != nil {
		return nil, errors.Join(err, write.Close())
	}
	read.SetMaxOpenConns(max(4, runtime.NumCPU()))
	read.SetMaxIdleConns(max(4, runtime.NumCPU()))
	return open(ctx, write, read, &dialect{
		where: path, migrations: []string{sqliteSchema + fmt.Sprintf(";\nPRAGMA application_id=%d", application)}, bytes: "BLOB", sum: "sum(t.reward)",
		empty: func(ctx context.Context, q querier) (bool, error) { return sqliteEmpty(ctx, q, path) },
		fault: sqliteFault, shrink: shrink,
	})
}

// sqliteAddress is a file with settings for each connection. Whoever finds the file
// locked waits for up to a minute.
func sqliteAddress(path string, settings ...string) string {
	query := "_pragma=busy_timeout(60000)&_pragma=cache_size(-32768)&_pragma=temp_store(memory)"
	for _, s := range settings {
		query += "&" + s
	}
	return "file:" + (&url.URL{Path: path}).EscapedPath() + "?" + query
}

// sqliteEmpty reports whether nothing was ever written to the file.
func sqliteEmpty(ctx context.Context, q querier, path string) (bool, error) {
	var whose, objects int
	err := q.QueryRowContext(ctx, "PRAGMA application_id").Scan(&whose)
	if err == nil { // else the same would be said twice
		err = q.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema").Scan(&objects)
	}
	if err == nil && whose != application && (whose != 0 || objects > 0) {
		err = &fault.Error{Boundary: fault.Storage, Kind: fault.Refused, Where: path, What: "this is a database of another program", Hint: "name another file; a store of traces is made where none is"}
	}
	return objects == 0, err
}

// sqliteFault says what the errors that users meet mean.
func sqliteFault(err error) *fault.Error {
	var e *driver.Error
	if !errors.As(err, &e) {
		return nil
	}
	switch e.Code() & 0xff {
	case code.SQLITE_NOTADB:
		return &fault.Error{Kind: fault.Refused, What: "this is not a store of traces", Hint: "name another file; a store of traces is made where none is"}
	case code.SQLITE_CORRUPT:
		return &fault.Error{Kind: fault.Corrupt, What: "the store is damaged", Hint: "restore it from a copy, or let sqlite3's .recover save what can be read"}
	case code.SQLITE_CANTOPEN, code.SQLITE_PERM:
		return &fault.Error{Kind: fault.Missing, What: "the store cannot be opened", Hint: "see that its folder is there, and that you may write to it"}
	case code.SQLITE_READONLY:
		return &fault.Error{Kind: fault.Refused, What: "the store cannot be written", Hint: "see that you may write to the file and to its folder"}
	case code.SQLITE_FULL:
		return &fault.Error{Kind: fault.Exhausted, What: "the disk is full", Hint: "make room, or remove old traces"}
	case code.SQLITE_BUSY, code.SQLITE_LOCKED:
		return &fault.Error{Kind: fault.Timeout, What: "another process has held the store for a minute", Hint: "end it, or try again", Retry: true}
	}
	return nil
}

// shrink gives free pages back to the disk.
func shrink(ctx context.Context, write *sql.DB) error {
	rows, err := write.QueryContext(ctx, "PRAGMA incremental_vacuum")
	if err != nil {
		return err
	}
	for rows.Next() { // a page a row
	}
	return errors.Join(rows.Err(), rows.Close())
}
