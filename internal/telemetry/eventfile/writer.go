// Package eventfile writes the metrics of a run as event files for TensorBoard. The
// format is checksummed records around two protocol buffers of three fields each; it
// needs nothing of TensorFlow.
package eventfile

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/run"
	"github.com/merit-rl/merit/internal/telemetry"
)

// Writer is a train.Reporter that writes each iteration to an event file as soon as it
// finishes. The step is the iteration, and the tag of a number is its path in
// metrics.jsonl. Each session starts a new file. A resumed run writes its earlier
// iterations again, and TensorBoard discards the earlier files.
//
// If an event file cannot be written, the run continues: the Writer logs the error once
// and stops writing, and Close returns the error.
type Writer struct {
	dir  string
	log  *slog.Logger
	now  func() time.Time
	file *os.File
	err  error
}

// Open creates the folder dir if it does not exist. The file in it is created when the
// run starts. A nil log discards logs.
func Open(dir string, log *slog.Logger) (*Writer, error) {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	w := &Writer{dir: dir, log: log, now: time.Now}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, unwritable(dir, err)
	}
	return w, nil
}

// Began starts a file and writes the earlier iterations of a resumed run, with the times
// at which they would have finished without interruptions.
func (w *Writer) Began(history []run.Iteration, _ int) {
	now := seconds(w.now())
	data := appendRecord(nil, versionEvent(now))
	data = appendRecord(data, startEvent(now, 0))
	ends := make([]float64, len(history))
	for i, end := len(history)-1, now; i >= 0; i-- {
		ends[i] = end
		end -= history[i].Time.Total
	}
	for i, it := range history {
		data = appendRecord(data, iterationEvent(ends[i], it))
	}
	if w.err == nil && w.file != nil {
		w.fail(w.file.Close())
	}
	if w.err == nil {
		w.file, w.err = create(w.dir, w.now())
		w.fail(w.err)
	}
	w.write(data)
}

// Iterated writes the iteration.
func (w *Writer) Iterated(it run.Iteration, _ int) {
	if w.file == nil && w.err == nil {
		w.Began(nil, 0)
	}
	w.write(appendRecord(nil, iterationEvent(seconds(w.now()), it)))
}

// Collecting does nothing.
func (w *Writer) Collecting(string, int, int) {}

// Evaluated does nothing: validations are part of their iteration.
func (w *Writer) Evaluated(string, run.Score) {}

// Close closes the file and returns the error that stopped writing, if any.
func (w *Writer) Close() error {
	if w.file != nil {
		if err := w.file.Close(); err != nil && w.err == nil {
			w.err = unwritable(w.file.Name(), err)
		}
		w.file = nil
	}
	return w.err
}

func (w *Writer) write(data []byte) {
	if w.err == nil {
		_, err := w.file.Write(data)
		w.fail(err)
	}
}

// fail stores the first error.
func (w *Writer) fail(err error) {
	if err == nil {
		return
	}
	if fault.As(err) == nil {
		err = unwritable(w.file.Name(), err)
	}
	w.err = err
	w.log.Warn("cannot write the event file; the run continues without it", "cause", err)
}

// iterationEvent returns the event of an iteration; its step is the iteration number.
func iterationEvent(wall float64, it run.Iteration) []byte {
	scalars := slices.DeleteFunc(telemetry.Iteration(it), func(s telemetry.Scalar) bool { return s.Path[0] == "iteration" })
	return scalarsEvent(wall, int64(it.Iteration), scalars)
}

// create creates a file whose name sorts after those of earlier sessions, because
// TensorBoard reads a folder in that order.
func create(dir string, now time.Time) (*os.File, error) {
	for n := range 100 {
		path := filepath.Join(dir, fmt.Sprintf("events.out.tfevents.%010d.merit.%02d", now.Unix(), n))
		file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if err == nil || !errors.Is(err, fs.ErrExist) {
			if err != nil {
				err = unwritable(path, err)
			}
			return file, err
		}
	}
	return nil, unwritable(dir, fs.ErrExist)
}

func unwritable(path string, err error) error {
	return &fault.Error{
		Boundary: fault.Storage, Kind: fault.Refused, Where: path, What: "cannot write event files", Err: err,
		Hint: "use a writable folder with free disk space",
	}
}

func seconds(t time.Time) float64 { return float64(t.UnixNano()) / 1e9 }
