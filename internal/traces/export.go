// Package traces implements the commands of merit traces: it exports, imports and
// scores the traces in a store.
package traces

import (
	"context"
	"io"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/data/interchange"
	"github.com/merit-rl/merit/internal/data/jsonl"
	"github.com/merit-rl/merit/internal/traces/archive"
	"github.com/merit-rl/merit/internal/traces/store"
	"github.com/merit-rl/merit/internal/traces/trace"
)

// Format is an export format for traces.
type Format string

// The export formats.
const (
	FormatLines        Format = "jsonl"        // one trace per line
	FormatTree         Format = "tree"         // traces/DATE/AGENT/trace_ID.json and an index
	FormatTrajectories Format = "trajectories" // trajectories for merit eval and trainers, one per line
	FormatATIF         Format = "atif"         // ID/trajectory.json, documents of ATIF 1.7
)

// Formats returns the names of all formats.
func Formats() []string {
	return []string{string(FormatLines), string(FormatTree), string(FormatTrajectories), string(FormatATIF)}
}

// ExportOptions configures Export.
type ExportOptions struct {
	Query  trace.Query
	Format Format
	// Out is a folder for a tree and for ATIF, otherwise a file. A name ending in .zst or .gz
	// compresses it; trajectories can also go to .parquet. "-" is Stdout.
	Out      string
	Stdout   io.Writer
	Progress func(done int) // may be nil
}

// Moved counts what was exported or imported.
type Moved struct {
	Traces  int         `json:"traces"`
	Spans   int         `json:"spans"`
	Without int         `json:"without_conversation,omitempty"` // omitted from trajectories: the trace has no messages
	Skipped archive.Bad `json:"skipped,omitzero"`
	Notes   []string    `json:"not_read,omitempty"` // what the input says and traces cannot hold, with counts
}

// Export writes the traces that match the query, in the order of the store.
// Each output file appears whole or not at all. The bytes depend only on the
// traces.
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
	if o.Format == FormatTree || o.Format == FormatATIF {
		return moved, o.folder(each, moved)
	}
	w, err := jsonl.Create(o.Out, o.Stdout)
	if err != nil {
		return nil, err
	}
	defer w.Drop()
	put := func(t *trace.Trace) error { return archive.WriteLines(w, t) }
	if o.Format == FormatTrajectories {
		put = told(func(t *rl.Trajectory) error { return w.Encode(t) }, moved)
	}
	if err := each(put); err != nil {
		return nil, err
	}
	return moved, w.Close()
}

// folder writes traces to a folder.
func (o *ExportOptions) folder(each func(func(*trace.Trace) error) error, moved *Moved) error {
	if o.Out == "-" {
		return &fault.Error{Boundary: fault.CLI, Kind: fault.Invalid, What: "the " + string(o.Format) + " format needs a folder to write to", Hint: "name the folder with --out"}
	}
	if o.Format == FormatATIF {
		to, err := interchange.CreateTrials(o.Out)
		if err != nil {
			return err
		}
		return each(told(to.Put, moved, archive.WithUsage))
	}
	tree, err := archive.CreateTree(o.Out)
	if err != nil {
		return err
	}
	if err := each(tree.Put); err != nil {
		return err
	}
	return tree.Close()
}

// told returns a function that puts the trajectory of a trace with what each of more adds, and
// counts traces without messages.
func told(put func(*rl.Trajectory) error, moved *Moved, more ...func(*trace.Trace, *rl.Trajectory)) func(*trace.Trace) error {
	return func(t *trace.Trace) error {
		told := t.Trajectory()
		for _, add := range more {
			add(t, told)
		}
		if len(told.Messages) == 0 {
			moved.Without++
			return nil
		}
		return put(told)
	}
}
