package sandbox

import (
	"strconv"
	"unicode/utf8"

	"github.com/merit-rl/merit/sandbox/internal/engine"
)

var logLevels = [...]string{"debug: ", "", "warning: ", "error: "}

// logLine takes a call of log.
func (c *collector) logLine(level int32, text []byte) error {
	if level < 0 || int(level) >= len(logLevels) {
		return violation("log level %d does not exist", level)
	}
	if !utf8.Valid(text) {
		return violation("a log line is not valid UTF-8")
	}
	if err := c.appendLog([]byte(logLevels[level])); err != nil {
		return err
	}
	if err := c.appendLog(text); err != nil {
		return err
	}
	return c.appendLog([]byte{'\n'})
}

func (c *collector) appendLog(p []byte) error {
	if len(c.log)+len(p) > c.limits.LogKiB<<10 {
		c.log = append(c.log, p[:c.limits.LogKiB<<10-len(c.log)]...)
		return overOutput("log_kib")
	}
	c.log = append(c.log, p...)
	return nil
}

var _ engine.System = (*collector)(nil)

// Output implements engine.System: what a guest prints is its log, or the
// result of a command.
func (c *collector) Output(fd int, p []byte) error {
	if fd == 1 && c.capture {
		if len(c.stdout)+len(p) > c.limits.OutputKiB<<10 {
			return overOutput("output_kib")
		}
		c.stdout = append(c.stdout, p...)
		return nil
	}
	return c.appendLog(p)
}

// Input implements engine.System.
func (c *collector) Input(p []byte) int {
	n := copy(p, c.stdin)
	c.stdin = c.stdin[n:]
	return n
}

func itoa(n int) string { return strconv.Itoa(n) }
