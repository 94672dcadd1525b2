package jsonl

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"

	"github.com/merit-rl/merit/core/fault"
)

// cutter splits what a Writer's buffer flushes into lines.
type cutter struct{ part []byte }

// write calls line with each complete line, which must be a JSON object.
func (c *cutter) write(text []byte, line func([]byte) error) (int, error) {
	n := len(text)
	for {
		end := bytes.IndexByte(text, '\n')
		if end < 0 {
			c.part = append(c.part, text...)
			return n, nil
		}
		c.part = append(c.part, text[:end]...)
		row := bytes.TrimSpace(c.part)
		if !isObject(row) {
			return 0, &fault.Error{Boundary: fault.Storage, Kind: fault.Invalid, What: "rows of a table must be JSON objects", Hint: "write JSON Lines"}
		}
		if err := line(row); err != nil {
			return 0, err
		}
		c.part, text = c.part[:0], text[end+1:]
	}
}

// aside keeps rows in an unnamed temporary file until all have been seen.
type aside struct {
	file  *os.File
	lines *bufio.Writer
}

func newAside(folder string) (*aside, error) {
	f, err := os.CreateTemp(folder, ".merit-*.jsonl")
	if err != nil {
		return nil, CannotWrite(err)
	}
	_ = os.Remove(f.Name()) // it is freed with the file handle
	return &aside{f, bufio.NewWriterSize(f, 1<<16)}, nil
}

func (a *aside) add(row []byte) error {
	if _, err := a.lines.Write(row); err != nil {
		return CannotWrite(err)
	}
	return CannotWrite(a.lines.WriteByte('\n'))
}

// each calls row with all rows in order.
func (a *aside) each(row func([]byte) error) error {
	if err := a.lines.Flush(); err != nil {
		return CannotWrite(err)
	}
	if _, err := a.file.Seek(0, io.SeekStart); err != nil {
		return CannotWrite(err)
	}
	in := bufio.NewReaderSize(a.file, 1<<16)
	for {
		text, err := in.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return CannotWrite(err)
		}
		if err := row(bytes.TrimSpace(text)); err != nil {
			return err
		}
	}
}

// drop frees the rows; a may be nil.
func (a *aside) drop() {
	if a != nil {
		a.file.Close()
	}
}
