package asking

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/judge"
)

// calls counts the questions that reach the model. The zero value counts those of the process;
// after keep, a file has a line for each, so that a run that is resumed, or was killed, continues
// to count.
type calls struct {
	mu     sync.Mutex
	n      int
	before int // by earlier processes
	file   *os.File
}

// keep counts in a file of the folder dir from now on, too. Its lines are the keys of questions,
// or - for one that the process asked before. Another folder is another run, which starts with
// what its file counts.
func (c *calls) keep(dir string, grant int) error {
	path := filepath.Join(dir, fmt.Sprintf("asked-%d.log", grant))
	err := os.MkdirAll(dir, 0o755)
	if err != nil {
		return uncounted(path, err)
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return uncounted(path, err)
	}
	lines, err := count(f)
	if err != nil {
		return errors.Join(uncounted(path, err), f.Close())
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.file != nil {
		err, c.n = c.file.Close(), 0
	}
	if c.n > 0 {
		_, err = f.WriteString(strings.Repeat("-\n", c.n))
	}
	c.file, c.before, c.n = f, lines, c.n+lines
	if err != nil {
		return uncounted(path, err)
	}
	return nil
}

// count returns the number of lines of f, also of one that a kill cut short, which it completes.
func count(f *os.File) (lines int, err error) {
	text, last := make([]byte, 64<<10), byte('\n')
	for {
		n, err := f.Read(text)
		if n > 0 {
			lines, last = lines+bytes.Count(text[:n], []byte{'\n'}), text[n-1]
		}
		switch {
		case err == nil:
			continue
		case !errors.Is(err, io.EOF):
			return lines, err
		case last == '\n':
			return lines, nil
		}
		_, err = f.Write([]byte{'\n'})
		return lines + 1, err
	}
}

// one counts a question before it is asked, or returns the error of a run that may ask no more
// than most; 0 sets no limit.
func (c *calls) one(key string, most int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if most > 0 && c.n >= most {
		what := fmt.Sprintf("the run has asked all %d questions that it may (ask.run_calls)", most)
		if c.before > 0 {
			what += fmt.Sprintf(", %d of them before it was resumed", c.before)
		}
		return &fault.Error{Boundary: fault.Model, Kind: fault.Exhausted, Err: judge.ErrClosed, What: what, Hint: "raise ask.run_calls"}
	}
	c.n++
	if c.file == nil {
		return nil
	}
	if _, err := c.file.WriteString(key + "\n"); err != nil {
		return uncounted(c.file.Name(), errors.Join(judge.ErrClosed, err))
	}
	return nil
}

// Close closes the file.
func (c *calls) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.file == nil {
		return nil
	}
	f := c.file
	c.file = nil
	return f.Close()
}

func uncounted(path string, err error) error {
	return &fault.Error{Boundary: fault.Storage, Kind: fault.Crashed, Where: path, What: "questions to the model cannot be counted", Err: err, Hint: "check the disk and the permissions of the folder"}
}
