// Package jsonl reads files of one JSON value a line, plain or compressed with
// zstd or gzip, of any length in bounded memory. What is wrong is named by
// file and line. It imports core/fault and compression libraries.
package jsonl

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/merit-rl/merit/core/fault"
)

// MaxLine is the longest line that is read.
const MaxLine = 256 << 20

// Reader reads values one by one.
type Reader struct {
	name    string
	line    int
	bytes   int64
	buffer  *bufio.Reader
	long    []byte // a line longer than the buffer
	closers []func() error
	ended   bool // the last line had no line break
}

// Open opens the file at path; "-" is stdin.
func Open(path string, stdin io.Reader) (*Reader, error) {
	if path == "-" {
		return NewReader("stdin", stdin)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, &fault.Error{Boundary: fault.Data, Kind: fault.Missing, What: "cannot read", Err: err, Hint: "check the path"}
	}
	r, err := NewReader(path, f)
	if err != nil {
		f.Close()
		return nil, err
	}
	r.closers = append(r.closers, f.Close)
	return r, nil
}

// Count counts the lines of the file at path that are not blank, without
// reading what they say.
func Count(path string) (int, error) {
	r, err := Open(path, nil)
	if err != nil {
		return 0, err
	}
	defer r.Close()
	for n := 0; ; {
		line, err := r.read()
		if errors.Is(err, io.EOF) {
			return n, nil
		} else if err != nil {
			return n, err
		}
		if len(bytes.TrimSpace(line)) > 0 {
			n++
		}
	}
}

// NewReader reads from in, which messages call name. Compression is known by
// the first bytes.
func NewReader(name string, in io.Reader) (*Reader, error) {
	r := &Reader{name: name}
	raw := bufio.NewReaderSize(in, 1<<16)
	head, err := raw.Peek(4)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, r.fault(fault.Corrupt, "cannot read", err)
	}
	switch {
	case bytes.HasPrefix(head, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		z, err := zstd.NewReader(raw, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(64<<20))
		if err != nil {
			return nil, r.fault(fault.Corrupt, "not a zstd file", err)
		}
		r.closers = append(r.closers, func() error { z.Close(); return nil })
		r.buffer = bufio.NewReaderSize(z, 1<<16)
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b}):
		z, err := gzip.NewReader(raw)
		if err != nil {
			return nil, r.fault(fault.Corrupt, "not a gzip file", err)
		}
		r.closers = append(r.closers, z.Close)
		r.buffer = bufio.NewReaderSize(z, 1<<16)
	default:
		r.buffer = raw
	}
	return r, nil
}

// Next decodes the next line that is not blank into v, or returns io.EOF.
func (r *Reader) Next(v any) error {
	for {
		line, err := r.read()
		if err != nil {
			return err
		}
		r.bytes += int64(len(line))
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		if err := json.Unmarshal(line, v); err != nil {
			return r.malformed(line, err)
		}
		return nil
	}
}

// Where names the line that Next read last.
func (r *Reader) Where() string { return fmt.Sprintf("%s:%d", r.name, r.line) }

// Line is the 1-based number of the line that Next read last.
func (r *Reader) Line() int { return r.line }

// Name is the name of the file.
func (r *Reader) Name() string { return r.name }

// Bytes is how much text was read so far, decompressed.
func (r *Reader) Bytes() int64 { return r.bytes }

// Close closes what Open opened.
func (r *Reader) Close() error {
	var errs []error
	for _, c := range r.closers {
		errs = append(errs, c())
	}
	return errors.Join(errs...)
}

func (r *Reader) read() ([]byte, error) {
	r.line++
	line, err := r.buffer.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		r.long = append(r.long[:0], line...)
		for errors.Is(err, bufio.ErrBufferFull) && len(r.long) <= MaxLine {
			line, err = r.buffer.ReadSlice('\n')
			r.long = append(r.long, line...)
		}
		line = r.long
	}
	switch {
	case len(line) > MaxLine:
		return nil, r.fault(fault.Exhausted, fmt.Sprintf("the line is longer than %d MiB", MaxLine>>20), nil)
	case err == nil:
		return line, nil
	case errors.Is(err, io.EOF) && len(line) == 0:
		return nil, io.EOF
	case errors.Is(err, io.EOF):
		r.ended = true
		return line, nil
	case errors.Is(err, io.ErrUnexpectedEOF):
		return nil, r.fault(fault.Corrupt, "the compressed file is truncated", nil)
	}
	return nil, r.fault(fault.Corrupt, "cannot read", err)
}

func (r *Reader) malformed(line []byte, err error) error {
	var syntax *json.SyntaxError
	if r.ended && errors.As(err, &syntax) && syntax.Offset >= int64(len(line)) {
		return r.fault(fault.Corrupt, "the file is truncated: its last line is half a JSON value", nil)
	}
	return r.fault(fault.Invalid, "not what is expected here", err)
}

func (r *Reader) fault(kind fault.Kind, what string, err error) error {
	hint := "one JSON value a line; look at the line that is named"
	if kind == fault.Corrupt {
		hint = "copy or write the file again, or cut it after the last whole line"
	}
	where := r.name
	if r.line > 0 {
		where = r.Where()
	}
	return &fault.Error{Boundary: fault.Data, Kind: kind, Where: where, What: what, Err: err, Hint: hint}
}
