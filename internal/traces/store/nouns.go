package store

import (
	"time"

	"github.com/merit-rl/merit/internal/traces/trace"
)

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
