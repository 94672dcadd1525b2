package cli

import (
	"bufio"
	"encoding/json"
	"io"
	"maps"
	"os"
	"reflect"
	"slices"
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
		return &output{Writer: newBuffer(h.Stdout)}, nil
	}
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return nil, cannotWrite(err)
		}
		return &output{newBuffer(f), f.Close, func() { f.Close() }}, nil
	}
	f, err := renameio.NewPendingFile(path, renameio.WithPermissions(0o644), renameio.WithExistingPermissions())
	if err != nil {
		return nil, cannotWrite(err)
	}
	return &output{newBuffer(f), f.CloseAtomicallyReplace, func() { _ = f.Cleanup() }}, nil
}

func newBuffer(w io.Writer) *bufio.Writer { return bufio.NewWriterSize(w, 1<<16) }

// fileExists reports whether path is a file that can be opened.
func fileExists(path string) bool {
	info, err := os.Stat(path)
	return err == nil && !info.IsDir()
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

// sortedKeys returns the keys of m in order.
func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// sameJSON reports whether two lines say the same, whatever their spacing and
// the order of keys.
func sameJSON(a, b []byte) bool {
	var x, y any
	if json.Unmarshal(a, &x) != nil || json.Unmarshal(b, &y) != nil {
		return false
	}
	return reflect.DeepEqual(x, y)
}
