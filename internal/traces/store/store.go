// Package store is where traces are kept: the interface of a store, which
// packages below implement for a file of this machine and for a server.
package store

import (
	"context"
	"time"

	"github.com/merit-rl/merit/internal/traces/trace"
)

// Store keeps traces. It is safe for concurrent use: many readers and writers
// of this process, and of others.
type Store interface {
	trace.Sink
	// Trace returns a trace whole. Without one of the id the error is
	// fault.Missing.
	Trace(ctx context.Context, id string) (*trace.Trace, error)
	// List returns a page of heads, at most q.Limit (100 if it is 0), newest or
	// oldest first; traces that started at one time by their ids.
	List(ctx context.Context, q trace.Query) (Page, error)
	// Each calls f for every trace that q chooses, whole, in the order of List,
	// until f returns an error, which it returns. It holds one trace at a time.
	Each(ctx context.Context, q trace.Query, f func(*trace.Trace) error) error
	// Groups counts the traces that q chooses by a column, in its order.
	Groups(ctx context.Context, q trace.Query, by Column) ([]Count, error)
	// Changes returns heads of traces that were written after a point, oldest
	// change first, at most limit of them, and the point behind the last. 0 is
	// the beginning; Now is the end.
	Changes(ctx context.Context, after uint64, limit int) (heads []trace.Head, next uint64, err error)
	// Now is the point behind the last change.
	Now(ctx context.Context) (uint64, error)
	// Prune removes what is older, or more, than is to be kept.
	Prune(ctx context.Context, keep Retention) (Pruned, error)
	// Delete removes traces by their ids, all of them or, if the store lacks some,
	// none: the error is then fault.Missing and names them.
	Delete(ctx context.Context, ids []string) (Pruned, error)
	// Close may be called more than once.
	Close() error
}

// Page is a part of a list.
type Page struct {
	Heads []trace.Head `json:"traces"`
	Next  string       `json:"next,omitempty"` // Query.After of the next page; empty at the end
}

// Column is what traces can be counted by.
type Column string

// The closed set of columns.
const (
	ByDay    Column = "day" // of the start, in UTC
	ByAgent  Column = "agent"
	ByTask   Column = "task"
	ByStatus Column = "status"
)

// Count is a value of a column.
type Count struct {
	Value  string  `json:"value"`
	Traces int     `json:"traces"`
	Spans  int     `json:"spans"`
	Scored int     `json:"scored"`      // traces with a reward
	Mean   float64 `json:"mean_reward"` // of those; 0 if there is none
}

// Retention is what a store keeps. 0 is no limit.
type Retention struct {
	Age   time.Duration // since the start of a trace
	Bytes int64         // of all traces, as the store counts them; the oldest go first
	Dry   bool          // remove nothing, only count
}

// Pruned is what was removed.
type Pruned struct {
	Traces int   `json:"traces"`
	Spans  int   `json:"spans"`
	Bytes  int64 `json:"bytes"`
}
