package jsonl

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/renameio/v2"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/base/durable"
	"github.com/merit-rl/merit/internal/data/columns"
)

// Writer writes a file that appears whole or not at all, compressed if its
// name ends in .zst or .gz; lines that are JSON objects become the rows of a
// Parquet file if it ends in .parquet, of a table of text if it ends in .csv or
// .tsv, before .zst or .gz. Equal input gives equal bytes on every
// machine. It is for one goroutine.
type Writer struct {
	buffer *bufio.Writer
	pack   io.WriteCloser // the compressor, if any
	commit func() error   // makes the file appear
	drop   func()         // nil once the file has appeared or was dropped
	freed  func()         // lets go of what is not needed once the file is there; may be nil
}

// Create opens the file at path for writing; "-" is stdout. Devices and pipes
// are written as they are; a folder is refused. What is at path stays until
// Close replaces it.
// Errors of the Writer are of fault.Storage: Exhausted where a disk is full.
func Create(path string, stdout io.Writer) (*Writer, error) {
	return CreateTable(path, stdout, nil)
}

// CreateTable is Create for lines of which a Parquet file makes the given table.
// Without one it is made to fit the lines: a column has a type of its own if no
// value is lost by it, in whatever order they come.
func CreateTable(path string, stdout io.Writer, t *columns.Table) (*Writer, error) {
	if path == "-" {
		return newWriter("", stdout, nil, nil), nil
	}
	if err := CanWrite(path); err != nil {
		return nil, err
	}
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir():
		return nil, &fault.Error{Boundary: fault.Storage, Kind: fault.Refused, Where: path, What: "is a folder", Hint: "name a file in it"}
	case err == nil && !info.Mode().IsRegular():
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return nil, CannotWrite(err)
		}
		return newWriter("", f, f.Close, func() { f.Close() }), nil
	}
	at := path
	if to, err := filepath.EvalSymlinks(path); err == nil {
		at = to // the file is replaced, and a link to it stays one
	}
	f, err := renameio.NewPendingFile(at, renameio.WithPermissions(0o644), renameio.WithExistingPermissions())
	if err != nil {
		return nil, CannotWrite(err)
	}
	drop := func() { _ = f.Cleanup() }
	var p tabular
	switch delimiter := delimiterOf(path); {
	case delimiter != 0:
		p, err = newText(f, path, delimiter)
	case filepath.Ext(path) == parquetEnding:
		p, err = newParquet(f, filepath.Dir(path), t)
	default:
		return newWriter(filepath.Ext(path), f, f.CloseAtomicallyReplace, drop), nil
	}
	if err != nil {
		drop()
		return nil, err
	}
	w := &Writer{pack: p, commit: f.CloseAtomicallyReplace, drop: func() { drop(); p.drop() }}
	w.buffer, w.freed = bufio.NewWriterSize(p, 1<<16), p.drop
	return w, nil
}

// tabular makes a table of lines.
type tabular interface {
	io.WriteCloser
	drop() // lets go of what was put aside
}

// CanWrite refuses a name that promises a format in which nothing is written.
func CanWrite(path string) error {
	plain, packed := strings.ToLower(path), false
	for _, ending := range []string{".gz", ".zst"} {
		if cut, ok := strings.CutSuffix(plain, ending); ok {
			plain, packed = cut, true
		}
	}
	if packed && filepath.Ext(plain) == parquetEnding {
		return &fault.Error{Boundary: fault.Config, Kind: fault.Invalid, Where: path, What: "Parquet is compressed inside", Hint: "end the name in .parquet"}
	}
	return nil
}

func newWriter(ending string, to io.Writer, commit func() error, drop func()) *Writer {
	w := &Writer{commit: commit, drop: drop}
	if w.pack = compressor(ending, to); w.pack != nil {
		to = w.pack
	}
	w.buffer = bufio.NewWriterSize(to, 1<<16)
	return w
}

// compressor returns what compresses a file with that ending, or nil. Its bytes
// do not depend on the machine's processors or the time of day.
func compressor(ending string, to io.Writer) io.WriteCloser {
	switch ending {
	case ".zst":
		z, err := zstd.NewWriter(to, zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(true))
		if err != nil {
			panic(err) // only options can be wrong
		}
		return z
	case ".gz":
		z := gzip.NewWriter(to)
		z.ModTime = time.Unix(0, 0) // the header's "no time"
		return z
	}
	return nil
}

// Write writes bytes as they are.
func (w *Writer) Write(p []byte) (int, error) {
	n, err := w.buffer.Write(p)
	return n, CannotWrite(err)
}

// Encode writes v as one line of JSON.
func (w *Writer) Encode(v any) error {
	line, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = w.Write(append(line, '\n'))
	return err
}

// Close writes what is buffered and makes the file appear. If it fails, what
// was at the path before is still there.
func (w *Writer) Close() error {
	err := w.buffer.Flush()
	if w.pack != nil {
		err = errors.Join(err, w.pack.Close())
	}
	if err != nil || w.commit == nil {
		w.Drop()
		return CannotWrite(err)
	}
	w.drop = nil
	if w.freed != nil {
		w.freed()
	}
	return CannotWrite(w.commit())
}

// Drop throws away what was written. It does nothing after Close.
func (w *Writer) Drop() {
	if w.drop != nil {
		w.drop()
		w.drop = nil
	}
}

// CannotWrite is an error of the operating system, if any, as a fault of storage:
// Exhausted where a disk, a quota or a file size limit is used up.
func CannotWrite(err error) error {
	if err == nil || fault.As(err) != nil {
		return err
	}
	f := &fault.Error{Boundary: fault.Storage, Kind: fault.Refused, What: "cannot write", Err: err, Hint: "check that the folder exists and may be written to"}
	if durable.Full(err) {
		f.Kind, f.Hint = fault.Exhausted, "free space or write elsewhere; no finished file was damaged"
	}
	return f
}
