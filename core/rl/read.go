package rl

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"unicode/utf8"
)

// MaxLine is the largest line in bytes that ReadTrajectories accepts.
const MaxLine = 64 << 20

// ErrTruncated is in the tree of a LineError when the input ends inside its
// last line, as the file of a program that was killed does.
var ErrTruncated = errors.New("the file ends in the middle of this line")

// LineError is a line of a JSONL file that cannot be read.
type LineError struct {
	Line int // 1-based
	Err  error
}

// Error names the line.
func (e *LineError) Error() string { return fmt.Sprintf("line %d: %v", e.Line, e.Err) }

// Unwrap returns what is wrong with the line.
func (e *LineError) Unwrap() error { return e.Err }

// ReadTrajectories yields the trajectories of a JSONL stream, one a line, in
// order. Blank lines and a byte order mark are passed over and unknown fields
// are ignored, but what the pipeline relies on is checked (see
// Trajectory.Check). A trajectory without an id is called line-N.
//
// It stops at the first problem, which it yields as a *LineError, or as the
// reader's own error if reading failed.
func ReadTrajectories(r io.Reader) iter.Seq2[*Trajectory, error] {
	return func(yield func(*Trajectory, error) bool) {
		in := bufio.NewReaderSize(r, 64<<10)
		var buf []byte
		for number := 1; ; number++ {
			line, ended, err := readLine(in, buf[:0])
			buf = line
			if err != nil && err != io.EOF {
				yield(nil, located(number, err))
				return
			}
			if number == 1 {
				line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
			}
			if len(bytes.TrimSpace(line)) > 0 {
				t, problem := parseTrajectory(line, number)
				if problem != nil {
					if !ended && cutShort(line) {
						problem = fmt.Errorf("%w: %w", ErrTruncated, problem)
					}
					yield(nil, &LineError{number, problem})
					return
				}
				if !yield(t, nil) {
					return
				}
			}
			if err == io.EOF {
				return
			}
		}
	}
}

var errLong = fmt.Errorf("the line is longer than %d MiB", MaxLine>>20)

// located gives a problem of a line its number; a failing reader has none.
func located(line int, err error) error {
	if errors.Is(err, errLong) {
		return &LineError{line, err}
	}
	return err
}

// readLine appends the next line to buf, without its newline, and reports
// whether it had one.
func readLine(in *bufio.Reader, buf []byte) (line []byte, ended bool, err error) {
	for {
		part, err := in.ReadSlice('\n')
		if len(buf)+len(part) > MaxLine {
			return buf, false, errLong
		}
		buf = append(buf, part...)
		switch {
		case err == nil:
			return buf[:len(buf)-1], true, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return buf, false, err
		}
	}
}

// cutShort reports whether the JSON of a line ends too early, or in the zeros
// of a file system that lost the rest.
func cutShort(line []byte) bool {
	var raw json.RawMessage
	err := json.NewDecoder(bytes.NewReader(bytes.TrimRight(line, "\x00"))).Decode(&raw)
	return errors.Is(err, io.ErrUnexpectedEOF)
}

func parseTrajectory(line []byte, number int) (*Trajectory, error) {
	t := new(Trajectory)
	if err := json.Unmarshal(line, t); err != nil {
		var wrong *json.UnmarshalTypeError
		if errors.As(err, &wrong) && wrong.Field != "" {
			return nil, fmt.Errorf("%s must not be a %s", wrong.Field, wrong.Value)
		}
		return nil, fmt.Errorf("not a trajectory: %w", err)
	}
	if !utf8.Valid(line) {
		return nil, errors.New("the text is not UTF-8")
	}
	if t.ID == "" {
		t.ID = fmt.Sprintf("line-%d", number)
	}
	return t, t.Check()
}

// Check reports everything in which t is not fit for the pipeline, as one
// error: a conversation must be there (unless the episode was lost to a fault),
// each message needs a role, and each step must point to the assistant message
// that carries its action, in order.
func (t *Trajectory) Check() error {
	var problems []string
	wrong := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	if len(t.Messages) == 0 && t.StopReason != StopError {
		wrong("messages is empty")
	}
	for i, m := range t.Messages {
		if m.Role == "" {
			wrong("messages[%d] has no role", i)
		}
	}
	before := -1
	for i, s := range t.Steps {
		at := s.MessageCount
		switch {
		case s.Index != i:
			wrong("steps[%d].index is %d", i, s.Index)
		case at <= before || at >= len(t.Messages):
			wrong("steps[%d].message_count is %d; expected above %d and below %d messages", i, at, before, len(t.Messages))
		case t.Messages[at].Role != RoleAssistant:
			wrong("steps[%d].message_count is %d, but messages[%d] is of role %q", i, at, at, t.Messages[at].Role)
		}
		before = max(before, at)
	}
	const most = 5
	if n := len(problems); n > most {
		problems = append(problems[:most], fmt.Sprintf("and %d more problems", n-most))
	}
	if len(problems) > 0 {
		return errors.New(strings.Join(problems, "; "))
	}
	return nil
}
