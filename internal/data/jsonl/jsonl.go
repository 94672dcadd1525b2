// Package jsonl reads and writes files of trajectories of any length in bounded memory:
// one JSON value per line, plain or compressed with zstd or gzip, and the rows of tables
// in the form of such lines. Errors name the file and the line or row.
// It recognizes many other formats and suggests how to convert them.
package jsonl

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/base/jsonspan"
	"github.com/merit-rl/merit/internal/data/interchange"
)

var byteOrderMark = []byte("\xef\xbb\xbf")

// MaxLine is the maximum length of a line in bytes.
const MaxLine = 64 << 20

// Reader reads lines one by one; the rows of a table count as lines.
type Reader struct {
	name    string
	line    int
	bytes   int64
	buffer  *bufio.Reader
	long    []byte // a line longer than the buffer
	columns []Column
	closers []func() error
	begun   bool // a nonblank line has been read
	ended   bool // the last line had no line break

	table   rows               // nil for lines
	folded  bool               // text in the table may be the JSON of a field
	spelled bool               // all cells are text
	plain   map[string]bool    // columns whose text is decoded as JSON scalars
	tasks   bool               // rows are read as tasks
	results bool               // rows are results in the form of a table
	notes   *interchange.Notes // of the formats of other tools; nil for Merit's own
	total   int64              // rows of the table; -1 if unknown
	count   int64              // lines or rows so far
	input   *counted           // counts bytes of a file of size bytes; nil for streams
	size    int64
}

// NewReader reads from in; messages call it name. It detects compression by the first
// bytes.
func NewReader(name string, in io.Reader) (*Reader, error) {
	r := &Reader{name: name}
	raw := bufio.NewReaderSize(in, 1<<16)
	head, err := raw.Peek(4)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, r.fault(r.line, fault.Corrupt, "cannot read", err)
	}
	switch {
	case bytes.HasPrefix(head, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		z, err := zstd.NewReader(raw, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(64<<20))
		if err != nil {
			return nil, r.fault(r.line, fault.Corrupt, "not a zstd file", err)
		}
		r.closers = append(r.closers, func() error { z.Close(); return nil })
		r.buffer = bufio.NewReaderSize(z, 1<<16)
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b}):
		z, err := gzip.NewReader(raw)
		if err != nil {
			return nil, r.fault(r.line, fault.Corrupt, "not a gzip file", err)
		}
		r.closers = append(r.closers, z.Close)
		r.buffer = bufio.NewReaderSize(z, 1<<16)
	default:
		r.buffer = raw
	}
	return r, nil
}

// Line is one nonblank line. Text is valid until the next line is read.
type Line struct {
	Number int // 1-based
	Text   []byte
	open   bool // the file ends without a line break after it
	bad    error
	lost   int // number of lines that bad represents
}

// cutShort reports whether the file ends within the JSON of l, or with zeros from a file
// system that lost the rest.
func (l Line) cutShort() bool {
	return l.open && opensValue(bytes.TrimRight(l.Text, "\x00"))
}

// Clone returns l with a copy of its text.
func (l Line) Clone() Line {
	l.Text = bytes.Clone(l.Text)
	return l
}

// Line reads the next nonblank line, or returns io.EOF.
func (r *Reader) Line() (Line, error) {
	if r.table != nil {
		return r.row()
	}
	for {
		text, err := r.read()
		if err != nil {
			return Line{}, err
		}
		r.bytes += int64(len(text))
		if r.line == 1 {
			text = bytes.TrimPrefix(text, byteOrderMark)
		}
		if text = bytes.TrimSpace(text); len(text) == 0 {
			continue
		}
		if !r.begun {
			if err := r.foreign(text, r.more); err != nil {
				return Line{}, err
			}
			r.begun = true
		}
		r.count++
		return Line{Number: r.line, Text: text, open: r.ended}, nil
	}
}

// row reads the next row of a table.
func (r *Reader) row() (Line, error) {
	row, err := r.table.Next()
	if err != nil {
		if errors.Is(err, io.EOF) {
			r.total = r.count
		}
		return Line{}, err
	}
	r.bytes += int64(len(row.Text))
	r.count += int64(max(row.Lost, 1))
	return Line{Number: row.Number, Text: row.Text, bad: row.Err, lost: row.Lost}, nil
}

// Estimate returns the estimated number of lines or rows, based on what was read; -1 if
// there is no estimate.
func (r *Reader) Estimate() int64 {
	switch {
	case r.table != nil && r.total >= 0:
		return r.total
	case r.input == nil || r.count == 0 || r.input.n.Load() == 0:
		return -1
	}
	share := float64(r.input.n.Load()) / float64(max(r.size, 1))
	return max(r.count, int64(float64(r.count)/min(share, 1)))
}

// All returns the rest of the file, decompressed and without a byte order mark, or the
// remaining rows of a table, one per line; of another tool's format, a row for each step. It returns an error if that is more than limit
// bytes.
func (r *Reader) All(limit int64) ([]byte, error) {
	if r.table != nil {
		return r.allRows(limit)
	}
	data, err := io.ReadAll(io.LimitReader(r.buffer, limit+1))
	if err != nil {
		return nil, r.cannotRead(err)
	}
	if int64(len(data)) > limit {
		return nil, r.tooLong(limit)
	}
	r.bytes += int64(len(data))
	data = bytes.TrimPrefix(data, byteOrderMark)
	first, rest, _ := bytes.Cut(bytes.TrimLeft(data, " \t\r\n"), []byte("\n"))
	return data, r.foreign(bytes.TrimSpace(first), func() bool { return len(rest) > 0 })
}

func (r *Reader) tooLong(limit int64) error {
	return &fault.Error{
		Boundary: fault.Data, Kind: fault.Exhausted, Where: r.name,
		What: fmt.Sprintf("the file is longer than %d bytes", limit), Hint: "split the file",
	}
}

// more reports whether anything follows the line that was read.
func (r *Reader) more() bool {
	_, err := r.buffer.Peek(1)
	return err == nil
}

// At returns the position of a line or a row of the file, for messages.
func (r *Reader) At(line int) string {
	if r.table != nil {
		return fmt.Sprintf("%s: row %d", r.name, line)
	}
	return fmt.Sprintf("%s:%d", r.name, line)
}

// Unit returns the unit of the file: line or row.
func (r *Reader) Unit() string {
	if r.table != nil {
		return unitRow
	}
	return unitLine
}

const unitLine, unitRow = "line", "row"

// Name returns the name of the file.
func (r *Reader) Name() string { return r.name }

// Bytes returns the number of bytes read so far, decompressed.
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
		if err := r.foreign(bytes.TrimSpace(line[:1<<10]), r.more); err != nil && !r.begun {
			return nil, err
		}
		return nil, r.fault(r.line, fault.Exhausted, fmt.Sprintf("the line is longer than %d MiB", MaxLine>>20), nil)
	case err == nil:
		return line, nil
	case errors.Is(err, io.EOF) && len(line) == 0:
		return nil, io.EOF
	case errors.Is(err, io.EOF):
		r.ended = true
		return line, nil
	}
	return nil, r.cannotRead(err)
}

func (r *Reader) cannotRead(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return r.fault(r.line, fault.Corrupt, "the compressed file is truncated", nil)
	}
	return r.fault(r.line, fault.Corrupt, "cannot read", err)
}

func (r *Reader) truncated(l Line) error {
	return r.fault(l.Number, fault.Corrupt, "the file is truncated: its last line is an incomplete JSON value", nil)
}

func (r *Reader) fault(line int, kind fault.Kind, what string, err error) error {
	hint := "check this line; each line must be one JSON value"
	if kind == fault.Corrupt {
		hint = "copy or write the file again, or truncate it after the last complete line"
	}
	where := r.name
	if line > 0 {
		where = r.At(line)
	}
	return &fault.Error{Boundary: fault.Data, Kind: kind, Where: where, What: what, Err: err, Hint: hint}
}

// Columns returns the top-level keys of a line, in order; none if the line is not a JSON
// object.
func (l Line) Columns() []string {
	if !isObject(l.Text) {
		return nil
	}
	var names []string
	for _, m := range jsonspan.Members(nil, l.Text) {
		names = append(names, string(jsonspan.Text(l.Text[m.KeyStart:m.KeyEnd])))
	}
	return names
}

func isObject(text []byte) bool { return len(text) > 0 && text[0] == '{' && json.Valid(text) }

// sameJSON reports whether two JSON values differ at most in white space.
func sameJSON(a, b []byte) bool {
	var x, y bytes.Buffer
	return json.Compact(&x, a) == nil && json.Compact(&y, b) == nil && bytes.Equal(x.Bytes(), y.Bytes())
}
