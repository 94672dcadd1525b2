package result

import (
	"bytes"
	"fmt"
	"unicode/utf8"

	"github.com/merit-rl/merit/sandbox/internal/engine"
	"github.com/merit-rl/merit/sandbox/internal/text"
)

var logLevels = [...]string{"debug: ", "", "warning: ", "error: "}

// LogLine handles a call of log.
func (c *Collector) LogLine(level int32, line []byte) error {
	if level < 0 || int(level) >= len(logLevels) {
		return Violation("log level %d does not exist", level)
	}
	if !utf8.Valid(line) {
		return Violation("a log line is not valid UTF-8")
	}
	c.AppendLog([]byte(logLevels[level]))
	c.AppendLog(line)
	c.AppendLog([]byte{'\n'})
	return nil
}

// AppendLog appends to the log unchanged. It cuts what exceeds the limit; a
// reward that logs too much keeps its score.
func (c *Collector) AppendLog(p []byte) {
	kept := min(len(p), c.limits.LogKiB<<10-len(c.log))
	c.log = append(c.log, p[:kept]...)
	c.CutLog(len(p) - kept)
}

// CutLog records that so many bytes were cut from the log.
func (c *Collector) CutLog(bytes int) { c.cut += bytes }

// Log returns the log so far, safe to show, with a note if it was cut.
func (c *Collector) Log() string {
	if c.cut == 0 {
		return text.Escape(string(c.log))
	}
	whole := bytes.TrimRightFunc(c.log, func(r rune) bool { return r == utf8.RuneError }) // half a character
	return fmt.Sprintf("%s\n[the log is cut here: it has %d bytes more than sandbox.log_kib allows]", text.Escape(string(whole)), c.cut)
}

// LogEnd returns the end of the log, at most most bytes before they are made
// safe to show.
func (c *Collector) LogEnd(most int) string {
	return text.Escape(string(c.log[max(0, len(c.log)-most):]))
}

// Mute drops what is logged from now on, because nobody reads it.
func (c *Collector) Mute() { c.muted = true }

// Feed sets the standard input of the guest.
func (c *Collector) Feed(p []byte) { c.stdin = p }

// Capture keeps standard output out of the log from now on.
func (c *Collector) Capture() { c.capture = true }

// Captured returns the standard output since Capture, valid until Start.
func (c *Collector) Captured() []byte { return c.stdout }

var _ engine.System = (*Collector)(nil)

// Output implements engine.System. The output of a guest goes to its log, or is
// captured.
func (c *Collector) Output(fd int, p []byte) error {
	if fd == 1 && c.last {
		c.captureLast(p)
		return nil
	}
	if fd == 1 && c.capture {
		if len(c.stdout)+len(p) > c.limits.OutputKiB<<10 {
			return OverOutput("output_kib")
		}
		c.stdout = append(c.stdout, p...)
		return nil
	}
	if c.muted {
		return nil
	}
	c.AppendLog(p)
	return nil
}

// Input implements engine.System.
func (c *Collector) Input(p []byte) int {
	n := copy(p, c.stdin)
	c.stdin = c.stdin[n:]
	return n
}
