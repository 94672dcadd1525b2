package traces

import (
	"context"
	"io"
	"os"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/traces/archive"
	"github.com/merit-rl/merit/internal/traces/trace"
)

// ImportOptions say what is read.
type ImportOptions struct {
	// Path is a file of traces, spans or trajectories, one a line, or of
	// trajectories in a table; or the folder of a tree. "-" is Stdin.
	Path     string
	Stdin    io.Reader
	SkipBad  bool            // omit what cannot be used; else nothing is put if anything is bad
	Progress func(spans int) // may be nil
}

// batch is how many spans are put at one time.
const batch = 512

// Import puts what is in a file or a folder into to. It may be done again: the
// same spans replace themselves. Unless bad lines are skipped, all of it is read
// and checked before anything is put.
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
	return moved, err
}

// seekable is a path that can be read twice: what comes by stdin is put aside.
func (o *ImportOptions) seekable() (path string, done func(), err error) {
	if o.Path != "-" {
		return o.Path, func() {}, nil
	}
	aside, err := os.CreateTemp("", "merit-import-*.jsonl")
	if err != nil {
		return "", nil, &fault.Error{Boundary: fault.Storage, Kind: fault.Refused, What: "cannot put stdin aside", Err: err, Hint: "give the path of a file"}
	}
	done = func() { os.Remove(aside.Name()) }
	_, err = io.Copy(aside, o.Stdin)
	if closed := aside.Close(); err == nil {
		err = closed
	}
	if err != nil {
		done()
		return "", nil, &fault.Error{Boundary: fault.Storage, Kind: fault.Refused, What: "cannot put stdin aside", Err: err, Hint: "give the path of a file"}
	}
	return aside.Name(), done, nil
}
