package process

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/merit-rl/merit/internal/wire"
)

const (
	keepOutput = 64 << 10 // bytes of output kept for error reports
	tailLines  = 12       // lines of output that an error shows …
	tailBytes  = 4 << 10  // … and their total length in bytes
	readSize   = 16 << 10
)

// Output receives everything that a plug-in prints. It logs lines, keeps the last ones,
// and slows down a plug-in that prints too much by letting its pipe fill up.
type Output struct {
	log     *slog.Logger
	rate    float64           // bytes per second; 0 = no limit
	secrets *strings.Replacer // hides secrets in displayed output; nil = none

	mu     sync.Mutex
	tail   []byte
	line   []byte
	credit float64
	last   time.Time
	warned bool
}

// NewOutput returns an Output that logs to log, if it is not nil, with the plug-in's
// name in every line, and accepts rate bytes per second. Secrets, if not nil, replaces
// secret values.
func NewOutput(log *slog.Logger, name string, rate int, secrets *strings.Replacer) *Output {
	if log != nil {
		log = log.With("plugin", name)
	}
	return &Output{log: log, rate: float64(rate), secrets: secrets, credit: float64(rate), last: time.Now()}
}

// shown cleans a line for display. It replaces secrets before it truncates the line.
func (o *Output) shown(line string, limit int) string {
	return wire.Clean(Hide(o.secrets, line), limit)
}

// Write implements io.Writer. It sleeps while the plug-in exceeds its rate.
func (o *Output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.tail = append(o.tail, p...)
	if len(o.tail) > 2*keepOutput {
		o.tail = append(o.tail[:0], o.tail[len(o.tail)-keepOutput:]...)
	}
	o.logLines(p)
	if wait := o.spend(len(p)); wait > 0 {
		if !o.warned && o.log != nil {
			o.warned = true
			o.log.Warn("plug-in exceeds limits.output and is slowed down", "limit_bytes_per_second", int(o.rate))
		}
		o.mu.Unlock()
		time.Sleep(wait)
		o.mu.Lock()
	}
	return len(p), nil
}

// spend takes n bytes of credit and returns how long to wait until the credit is
// available.
func (o *Output) spend(n int) time.Duration {
	if o.rate == 0 {
		return 0
	}
	now := time.Now()
	o.credit = min(o.rate, o.credit+now.Sub(o.last).Seconds()*o.rate) - float64(n)
	o.last = now
	if o.credit >= 0 {
		return 0
	}
	return time.Duration(-o.credit / o.rate * float64(time.Second))
}

func (o *Output) logLines(p []byte) {
	if o.log == nil || !o.log.Enabled(context.Background(), slog.LevelDebug) {
		return
	}
	for _, b := range p {
		if b != '\n' && len(o.line) < tailBytes {
			o.line = append(o.line, b)
			continue
		}
		o.log.Debug("plug-in printed", "line", o.shown(string(o.line), tailBytes))
		o.line = o.line[:0]
	}
}

// Tail returns the last lines, cleaned for display. If Go's runtime ended the process,
// Tail starts at the line that says why instead of at the end of the stack dumps.
func (o *Output) Tail() string {
	o.mu.Lock()
	lines := strings.Split(strings.TrimSpace(string(o.tail)), "\n")
	o.mu.Unlock()
	start := max(0, len(lines)-tailLines)
	for i, line := range lines {
		if strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ") {
			start = i
		}
	}
	lines = lines[start:min(len(lines), start+tailLines)]
	for i, line := range lines {
		lines[i] = o.shown(strings.TrimRight(line, "\r"), tailBytes/tailLines)
	}
	return strings.Join(lines, "\n")
}

// firstLine gives the first line of r to go-plugin and the rest to out. After the first
// line, Read returns only when r ends.
type firstLine struct {
	r     *os.File
	out   *Output
	greet func(line []byte)
	line  []byte
	over  bool
}

// Read implements io.Reader.
func (f *firstLine) Read(p []byte) (int, error) {
	if !f.over {
		n, err := f.r.Read(p)
		i := bytes.IndexByte(p[:n], '\n')
		if i >= 0 {
			f.over = true
			f.greet(append(f.line, p[:i]...))
			_, _ = f.out.Write(p[i+1 : n])
			return i + 1, nil
		}
		f.line = append(f.line, p[:min(n, tailBytes)]...)
		if err != nil || len(f.line) > tailBytes {
			f.over = true
			f.greet(f.line)
			return 0, io.EOF
		}
		return n, nil
	}
	buffer := make([]byte, readSize)
	for {
		n, err := f.r.Read(buffer)
		_, _ = f.out.Write(buffer[:n])
		if err != nil {
			return 0, io.EOF
		}
	}
}

// Close implements io.Closer.
func (f *firstLine) Close() error { return f.r.Close() }

// Hide returns r.Replace(text), or text if r is nil.
func Hide(r *strings.Replacer, text string) string {
	if r == nil {
		return text
	}
	return r.Replace(text)
}
