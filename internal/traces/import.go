package traces

import (
	"context"
	"io"
	"os"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/traces/archive"
	"github.com/merit-rl/merit/internal/traces/trace"
)

// ImportOptions configures Import.
type ImportOptions struct {
	// Path is a file of traces, spans or trajectories, one per line; a table of
	// trajectories; or the folder of a tree. "-" is Stdin.
	Path     string
	Stdin    io.Reader
	SkipBad  bool            // skip invalid records; otherwise one invalid record prevents any write
	Progress func(spans int) // may be nil
}

// batch is the number of spans per write.
const batch = 512

// Import writes the traces in a file or a folder to a sink. Importing the same
// spans again replaces them. Unless SkipBad is set, Import reads and checks all
// input before it writes anything.
func Import(ctx context.Context, to trace.Sink, o ImportOptions) (*Moved, error) {
	path, done, err := o.seekable()
	if err != nil {
		return nil, err
	}
	defer done()
	moved := new(Moved)
	if !o.SkipBad {
		err := archive.Read(path, &moved.Skipped, func([]trace.Span, []trace.About) error { return ctx.Err() })
		if err != nil {
			return nil, err
		}
		if err := moved.Skipped.Err(o.Path); err != nil {
			return nil, err
		}
	}
	var spans []trace.Span
	var about []trace.About
	flush := func() error {
		if len(spans)+len(about) == 0 {
			return nil
		}
		if err := to.Put(ctx, spans, about); err != nil {
			return err
		}
		moved.Spans += len(spans)
		if spans, about = spans[:0], about[:0]; o.Progress != nil {
			o.Progress(moved.Spans)
		}
		return nil
	}
	names := map[string]bool{}
	err = archive.Read(path, &moved.Skipped, func(more []trace.Span, known []trace.About) error {
		for _, s := range more {
			names[s.Trace] = true
		}
		spans, about = append(spans, more...), append(about, known...)
		if len(spans) < batch {
			return nil
		}
		return flush()
	})
	if err == nil {
		err = flush()
	}
	moved.Traces = len(names)
	moved.Notes, moved.Skipped.Notes = moved.Skipped.Notes, nil
	return moved, err
}

// seekable returns a path that can be read twice. It copies stdin to a temporary file.
func (o *ImportOptions) seekable() (path string, done func(), err error) {
	if o.Path != "-" {
		return o.Path, func() {}, nil
	}
	aside, err := os.CreateTemp("", "merit-import-*.jsonl")
	if err != nil {
		return "", nil, &fault.Error{Boundary: fault.Storage, Kind: fault.Refused, What: "cannot copy stdin to a temporary file", Err: err, Hint: "write stdin to a file and pass its path"}
	}
	done = func() { os.Remove(aside.Name()) }
	_, err = io.Copy(aside, o.Stdin)
	if closed := aside.Close(); err == nil {
		err = closed
	}
	if err != nil {
		done()
		return "", nil, &fault.Error{Boundary: fault.Storage, Kind: fault.Refused, What: "cannot copy stdin to a temporary file", Err: err, Hint: "write stdin to a file and pass its path"}
	}
	return aside.Name(), done, nil
}
