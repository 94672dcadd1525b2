package receipts

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/base/absent"
)

// lines reads the lines of a file without a copy of it in memory.
type lines struct {
	name   string
	file   *os.File
	in     *bufio.Reader
	number int // of the last line
}

func open(name string) (*lines, error) {
	f, err := os.Open(name)
	if err != nil {
		reason := &fault.Error{Boundary: fault.Data, Kind: fault.Missing, Where: name, Hint: absent.Hint(name)}
		_, reason.Err = absent.Reason(err)
		return nil, reason
	}
	return &lines{name: name, file: f, in: bufio.NewReaderSize(f, 1<<18)}, nil
}

// next returns the next line without its end, which is valid until the next call, and whether it
// has an end. The error is io.EOF, or a *fault.Error.
func (l *lines) next() (line []byte, ended bool, err error) {
	line, err = l.in.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		line, err = l.long(line)
	}
	if err == nil || len(line) > 0 {
		l.number++
	}
	switch {
	case err == nil:
		return line[:len(line)-1], true, nil
	case errors.Is(err, io.EOF) && len(line) > 0:
		return line, false, nil
	case errors.Is(err, io.EOF):
		return nil, false, io.EOF
	}
	if fault.As(err) == nil {
		err = &fault.Error{Boundary: fault.Storage, Kind: fault.Corrupt, Where: l.name, What: "cannot be read", Err: err, Hint: "check the disk, or restore the file from a copy"}
	}
	return nil, false, err
}

func (l *lines) long(begin []byte) (line []byte, err error) {
	line = append(line, begin...)
	for {
		var more []byte
		more, err = l.in.ReadSlice('\n')
		line = append(line, more...)
		if len(line) > maxLine {
			return nil, &fault.Error{
				Boundary: fault.Data, Kind: fault.Exhausted, Where: fmt.Sprintf("%s:%d", l.name, l.number+1),
				What: fmt.Sprintf("the line is longer than %d bytes", maxLine), Hint: "give a file that merit eval --receipts wrote",
			}
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

func (l *lines) close() { _ = l.file.Close() } // it was only read
