package console

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"os"
	"strings"

	"github.com/google/renameio/v2"
	"github.com/klauspost/compress/zstd"
)

// PrintJSON writes v as one indented JSON document to stdout.
func (h *Host) PrintJSON(v any) error {
	enc := json.NewEncoder(h.Stdout)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// Input opens path for reading; "-" is stdin.
func (h *Host) Input(path string) (io.ReadCloser, error) {
	if path == "-" {
		return io.NopCloser(h.Stdin), nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, CannotRead(err)
	}
	return f, nil
}

// Output is a buffered file that appears whole or not at all. Stdout ("-"),
// devices and pipes are written as they are.
type Output struct {
	*bufio.Writer
	commit func() error
	drop   func()
}

// Output opens path for writing. Close keeps what was written; Drop, which
// does nothing after Close, throws it away.
func (h *Host) Output(path string) (*Output, error) {
	if path == "-" {
		return &Output{Writer: newBuffer(h.Stdout)}, nil
	}
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return nil, CannotWrite(err)
		}
		return &Output{newBuffer(f), f.Close, func() { f.Close() }}, nil
	}
	f, err := renameio.NewPendingFile(path, renameio.WithPermissions(0o644), renameio.WithExistingPermissions())
	if err != nil {
		return nil, CannotWrite(err)
	}
	return &Output{newBuffer(f), f.CloseAtomicallyReplace, func() { _ = f.Cleanup() }}, nil
}

func newBuffer(w io.Writer) *bufio.Writer { return bufio.NewWriterSize(w, 1<<16) }

// FileExists reports whether path is a file that can be opened.
func FileExists(path string) bool {
	info, err := os.Stat(path)
	return err == nil && !info.IsDir()
}

// Close flushes and makes the file appear.
func (o *Output) Close() error {
	err := o.Flush()
	if o.commit == nil {
		return err
	}
	if err != nil {
		o.Drop()
		return err
	}
	o.drop = nil
	return o.commit()
}

// Drop throws away what was written.
func (o *Output) Drop() {
	if o.drop != nil {
		o.drop()
		o.drop = nil
	}
}

// WriteLine writes v as one line of JSON.
func WriteLine(w io.Writer, v any) error {
	line, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = w.Write(append(line, '\n'))
	return err
}

// Trajectories opens path for trajectories, compressed if its name says so.
func (h *Host) Trajectories(path string) (*Output, error) {
	out, err := h.Output(path)
	if err != nil || !strings.HasSuffix(path, ".zst") {
		return out, err
	}
	return out.compressed(), nil
}

// compressed puts zstd before out. One worker: the bytes must not depend on
// the machine's processors.
func (o *Output) compressed() *Output {
	z, err := zstd.NewWriter(o.Writer, zstd.WithEncoderConcurrency(1))
	if err != nil {
		panic(err) // only options can be wrong
	}
	return &Output{Writer: newBuffer(z), commit: func() error { return errors.Join(z.Close(), o.Close()) }, drop: o.Drop}
}
