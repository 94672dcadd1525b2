package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/traces/trace"
)

// dialect is in what databases differ.
type dialect struct {
	where      string   // the address for messages, without secrets
	migrations []string // from each version to the next; the first makes the tables
	lock       string   // the statement that makes a transaction the only one that writes; may be empty
	numbered   bool     // $1 for ?
	bytes      string   // the type of bytes
	sum        string   // the sum of t.reward
	view       *sql.TxOptions
	// empty reports whether the database has no tables. If it has those of
	// another program, the error is fault.Refused.
	empty func(ctx context.Context, q querier) (bool, error)
	// fault turns an error of the driver into one of ours, or returns nil.
	fault func(error) *fault.Error
	// shrink gives space back after traces were removed; may be nil.
	shrink func(ctx context.Context, write *sql.DB) error
}

// querier is a database, or a transaction of it.
type querier interface {
	ExecContext(context.Context, string, ...any) (sql.Result, error)
	QueryContext(context.Context, string, ...any) (*sql.Rows, error)
	QueryRowContext(context.Context, string, ...any) *sql.Row
}

// bind writes the marks of values as the database wants them.
func (d *dialect) bind(query string) string {
	if !d.numbered {
		return query
	}
	var b strings.Builder
	n := 0
	for _, c := range []byte(query) {
		if c != '?' {
			b.WriteByte(c)
			continue
		}
		n++
		b.WriteByte('$')
		b.WriteString(strconv.Itoa(n))
	}
	return b.String()
}

// explain says what an error of the database means.
func (d *dialect) explain(err error) error {
	if err == nil || fault.As(err) != nil || errors.Is(err, context.Canceled) {
		return err
	}
	if f := d.fault(err); f != nil {
		f.Boundary, f.Where, f.Err = fault.Storage, d.where, err
		return f
	}
	return &fault.Error{Boundary: fault.Storage, Kind: fault.Internal, Where: d.where, What: "the store does not answer as it should", Hint: "see what it says; if the file or server is well, report this", Err: err}
}

// Store keeps traces. It is safe for concurrent use: many readers and writers
// of this process, and of others.
type Store struct {
	write, read *sql.DB
	dialect     *dialect
	writer      *writer
	clock       func() time.Time
	close       func() error
}

// open makes a store of a database, which it brings up to date. Write has one
// connection. It owns both, and closes them if there is an error.
func open(ctx context.Context, write, read *sql.DB, d *dialect) (*Store, error) {
	s := &Store{write: write, read: read, dialect: d, clock: time.Now}
	s.close = sync.OnceValue(func() error {
		if s.writer != nil {
			s.writer.close()
		}
		return errors.Join(read.Close(), write.Close())
	})
	if err := s.migrate(ctx); err != nil {
		s.close()
		return nil, d.explain(err)
	}
	s.writer = newWriter(func(group []*put) error {
		return s.change(context.Background(), func(t *txn) error { return t.apply(group) })
	})
	return s, nil
}

// change is a transaction that writes.
func (s *Store) change(ctx context.Context, f func(*txn) error) error {
	tx, err := s.write.BeginTx(ctx, nil)
	if err != nil {
		return s.dialect.explain(err)
	}
	defer tx.Rollback()
	t := &txn{q: tx, ctx: ctx, dialect: s.dialect}
	if s.dialect.lock != "" {
		if err := t.exec(s.dialect.lock); err != nil {
			return s.dialect.explain(err)
		}
	}
	if err := f(t); err != nil {
		return s.dialect.explain(err)
	}
	return s.dialect.explain(tx.Commit())
}

// version is that of the tables; 0 if there are none.
func (d *dialect) version(t *txn) (int64, error) {
	empty, err := d.empty(t.ctx, t.q)
	if err != nil || empty {
		return 0, err
	}
	var at state
	if err := at.load(t); err != nil {
		return 0, err
	}
	if newest := int64(len(d.migrations)); at.version > newest {
		return 0, &fault.Error{
			Boundary: fault.Storage, Kind: fault.Refused, Where: d.where,
			What: fmt.Sprintf("the store is of version %d, and this Merit knows %d", at.version, newest), Hint: "use the Merit that wrote it, or a newer one",
		}
	}
	return at.version, nil
}

// migrate makes the tables, or brings those of an older version up to date.
func (s *Store) migrate(ctx context.Context) error {
	newest := int64(len(s.dialect.migrations))
	if at, err := s.dialect.version(s.direct(ctx)); err != nil || at == newest {
		return err
	}
	return s.change(ctx, func(t *txn) error {
		at, err := s.dialect.version(t)
		if err != nil {
			return err
		}
		for ; at < newest; at++ {
			for statement := range strings.SplitSeq(s.dialect.migrations[at], ";\n") {
				if strings.TrimSpace(statement) == "" {
					continue
				}
				if err := t.exec(statement); err != nil {
					return err
				}
			}
			if err := t.exec("UPDATE state SET version=?", at+1); err != nil {
				return err
			}
		}
		return nil
	})
}

// Put implements trace.Sink.
func (s *Store) Put(ctx context.Context, spans []trace.Span, about []trace.About) error {
	p, err := newPut(spans, about)
	if err != nil || len(p.rows)+len(about) == 0 {
		return err
	}
	return s.writer.put(ctx, p)
}

// Close writes what was put before. It may be called more than once.
func (s *Store) Close() error { return s.close() }
