package serve

import (
	"bufio"
	"encoding/json"
	"fmt"
	"time"

	"github.com/merit-rl/merit/core/scoring"
	"github.com/merit-rl/merit/internal/httpd"
)

// printer writes the response of a stream: one line for each input line.
type printer struct {
	c      *call
	buffer *bufio.Writer
	failed error
}

// badLine is the response to a line without a result.
type badLine struct {
	Line    int            `json:"line"` // counted from 1, including blank lines
	Problem *httpd.Problem `json:"problem"`
}

// ending is the last line of a stream that ends before its input.
type ending struct {
	End      bool           `json:"end"`      // always true
	Answered int            `json:"answered"` // number of nonblank lines that have a response; later lines were not read
	Problem  *httpd.Problem `json:"problem"`
}

func newPrinter(c *call) *printer {
	return &printer{c: c, buffer: bufio.NewWriterSize(impatient{c}, 1<<16)}
}

// impatient writes a response and limits how long its reader may pause.
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

// last writes why no more lines follow.
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

// Flush sends what has been written.
func (p *printer) Flush() error {
	if err := p.note(p.buffer.Flush()); err != nil {
		return err
	}
	_ = p.c.control.SetWriteDeadline(time.Now().Add(p.c.Limits.Idle))
	return p.note(p.c.control.Flush())
}

// close sends the rest. It clears the deadline for the next request on the connection.
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
