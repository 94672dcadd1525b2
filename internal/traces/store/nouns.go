package store

import (
	"time"

	"github.com/merit-rl/merit/internal/traces/trace"
)

// Page is a part of a list.
type Page struct {
	Heads []trace.Head `json:"traces"`
	Next  string       `json:"next,omitempty"` // Query.After of the next page; empty on the last page
}

// Column is a column by which traces can be counted.
type Column string

// The columns.
const (
	ByDay    Column = "day" // day of the start, in UTC
	ByAgent  Column = "agent"
	ByTask   Column = "task"
	ByStatus Column = "status"
)

// Count has the counts for one value of a column.
type Count struct {
	Value  string  `json:"value"`
	Traces int     `json:"traces"`
	Spans  int     `json:"spans"`
	Scored int     `json:"scored"`      // traces with a reward
	Mean   float64 `json:"mean_reward"` // mean over those; 0 if there are none
}

// Retention limits what a store keeps. 0 means no limit.
type Retention struct {
	Age   time.Duration // maximum age since the start of a trace
	Bytes int64         // maximum size of all traces, as the store counts it; the oldest are removed first
	Dry   bool          // count without removing anything
}

// Pruned counts what was removed.
type Pruned struct {
	Traces int   `json:"traces"`
	Spans  int   `json:"spans"`
	Bytes  int64 `json:"bytes"`
}
