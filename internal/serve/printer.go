package serve

import (
	"bufio"
	"encoding/json"
	"fmt"
	"time"

	"github.com/merit-rl/merit/core/scoring"
	"github.com/merit-rl/merit/internal/httpd"
)

// printer is the answer of a stream: a line for each line.
type printer struct {
	c      *call
	buffer *bufio.Writer
	failed error
}

// badLine stands where a line has no result.
type badLine struct {
	Line    int            `json:"line"` // 1-based, blank ones counted
	Problem *httpd.Problem `json:"problem"`
}

// ending is the last line of a stream that ended before its input.
type ending struct {
	End      bool           `json:"end"`      // true
	Answered int            `json:"answered"` // lines that are not blank and have an answer; those behind them were not read
	Problem  *httpd.Problem `json:"problem"`
}

func newPrinter(c *call) *printer {
	return &printer{c: c, buffer: bufio.NewWriterSize(impatient{c}, 1<<16)}
}

// impatient is an answer whose reader may pause, but not for ever.
type impatient struct{ c *call }

func (w impatient) Write(p []byte) (int, error) {
	_ = w.c.control.SetWriteDeadline(time.Now().Add(w.c.Limits.Idle))
	return w.c.w.Write(p)
}

// Result writes the result of a line.
func (p *printer) Result(_ *scoring.Result, text []byte) error {
	return p.line(text)
}

// Bad writes what is wrong with a line.
func (p *printer) Bad(line int, err error) error {
	what := problemOf(err)
	for i := range what.Problems {
		if what.Problems[i].Where == "" {
			what.Problems[i].Where = fmt.Sprintf("line %d", line)
		}
	}
	text, err := json.Marshal(badLine{line, what})
	if err != nil {
		return err
	}
	return p.line(text)
}

// last writes why nothing follows.
func (p *printer) last(answered int, err error) {
	text, err := json.Marshal(ending{true, answered, problemOf(err)})
	if err == nil {
		_ = p.line(text)
	}
}

func (p *printer) line(text []byte) error {
	_, err := p.buffer.Write(append(text, '\n'))
	return p.note(err)
}

// Flush sends what was written.
func (p *printer) Flush() error {
	if err := p.note(p.buffer.Flush()); err != nil {
		return err
	}
	_ = p.c.control.SetWriteDeadline(time.Now().Add(p.c.Limits.Idle))
	return p.note(p.c.control.Flush())
}

// close sends the rest. The connection has no deadline for whoever uses it next.
func (p *printer) close() error {
	err := p.note(p.buffer.Flush())
	_ = p.c.control.SetWriteDeadline(time.Time{})
	return err
}

func (p *printer) note(err error) error {
	if p.failed == nil {
		p.failed = err
	}
	return err
}
