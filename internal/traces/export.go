// Package traces does what the verbs of merit traces do: it exports, imports and
// scores what a store keeps.
package traces

import (
	"context"
	"io"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/data/jsonl"
	"github.com/merit-rl/merit/internal/traces/archive"
	"github.com/merit-rl/merit/internal/traces/store"
	"github.com/merit-rl/merit/internal/traces/trace"
)

// Format is a form in which traces are exported.
type Format string

// The closed set of formats.
const (
	FormatLines        Format = "jsonl"        // a trace a line
	FormatTree         Format = "tree"         // traces/DATE/AGENT/trace_ID.json and an index
	FormatTrajectories Format = "trajectories" // what merit eval and trainers read, one a line
)

// Formats returns the closed set of formats.
func Formats() []string {
	return []string{string(FormatLines), string(FormatTree), string(FormatTrajectories)}
}

// ExportOptions say what is written where.
type ExportOptions struct {
	Query  trace.Query
	Format Format
	// Out is a folder for a tree, else a file, compressed if it ends in .zst or
	// .gz, of trajectories Parquet if in .parquet; "-" is Stdout.
	Out      string
	Stdout   io.Writer
	Progress func(done int) // may be nil
}

// Moved is what was exported or imported.
type Moved struct {
	Traces  int         `json:"traces"`
	Spans   int         `json:"spans"`
	Without int         `json:"without_conversation,omitempty"` // left out of trajectories: nothing was said
	Skipped archive.Bad `json:"skipped,omitzero"`
}

// Export writes the traces that the query chooses, in the order of the store.
// A file appears whole or not at all; of a tree each file does. The bytes are a
// function of the traces.
func Export(ctx context.Context, s *store.Store, o ExportOptions) (*Moved, error) {
	moved := new(Moved)
	each := func(put func(*trace.Trace) error) error {
		return s.Each(ctx, o.Query, func(t *trace.Trace) error {
			if err := put(t); err != nil {
				return err
			}
			moved.Traces, moved.Spans = moved.Traces+1, moved.Spans+len(t.All)
			if o.Progress != nil {
				o.Progress(moved.Traces)
			}
			return nil
		})
	}
	switch {
	case o.Format == FormatTree && o.Out == "-":
		return nil, &fault.Error{Boundary: fault.CLI, Kind: fault.Invalid, What: "a tree is a folder", Hint: "name it with --out"}
	case o.Format == FormatTree:
		tree, err := archive.CreateTree(o.Out)
		if err != nil {
			return nil, err
		}
		if err := each(tree.Put); err != nil {
			return nil, err
		}
		return moved, tree.Close()
	}
	w, err := jsonl.Create(o.Out, o.Stdout)
	if err != nil {
		return nil, err
	}
	defer w.Drop()
	put := func(t *trace.Trace) error { return archive.WriteLines(w, t) }
	if o.Format == FormatTrajectories {
		put = func(t *trace.Trace) error {
			told := t.Trajectory()
			if len(told.Messages) == 0 {
				moved.Without++
				return nil
			}
			return w.Encode(told)
		}
	}
	if err := each(put); err != nil {
		return nil, err
	}
	return moved, w.Close()
}
