package cli

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"strconv"

	"github.com/google/renameio/v2"
)

func itoa(n int) string { return strconv.Itoa(n) }

// printJSON writes v as one indented JSON document to stdout.
func (h *Host) printJSON(v any) error {
	enc := json.NewEncoder(h.Stdout)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// input opens path for reading; "-" is stdin.
func (h *Host) input(path string) (io.ReadCloser, error) {
	if path == "-" {
		return io.NopCloser(h.Stdin), nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, cannotRead(err)
	}
	return f, nil
}

// output is a buffered file that appears whole or not at all. Stdout ("-"),
// devices and pipes are written as they are.
type output struct {
	*bufio.Writer
	commit func() error
	drop   func()
}

// output opens path for writing. Close keeps what was written; Drop, which
// does nothing after Close, throws it away.
func (h *Host) output(path string) (*output, error) {
	if path == "-" {
		return &output{Writer: bufio.NewWriterSize(h.Stdout, 1<<16)}, nil
	}
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return nil, cannotWrite(err)
		}
		return &output{bufio.NewWriterSize(f, 1<<16), f.Close, func() { f.Close() }}, nil
	}
	f, err := renameio.NewPendingFile(path, renameio.WithPermissions(0o644), renameio.WithExistingPermissions())
	if err != nil {
		return nil, cannotWrite(err)
	}
	return &output{bufio.NewWriterSize(f, 1<<16), f.CloseAtomicallyReplace, func() { _ = f.Cleanup() }}, nil
}

// Close flushes and makes the file appear.
func (o *output) Close() error {
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
func (o *output) Drop() {
	if o.drop != nil {
		o.drop()
		o.drop = nil
	}
}

// writeLine writes v as one line of JSON.
func writeLine(w io.Writer, v any) error {
	line, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = w.Write(append(line, '\n'))
	return err
}
