package live

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

// Screen redraws frames in place at the bottom of a terminal and lets other text scroll by
// above them. It redraws at least every second and at most every tenth of a second.
type Screen struct {
	out  io.Writer
	size func() (columns, rows int)
	draw func(columns, rows int) []Line

	mu    sync.Mutex
	shown []int // widths of the lines of the frame on the screen
	held  []byte
	last  time.Time
	stop  chan struct{}
	done  chan struct{}
}

// Minimum and maximum time between two frames; forced frames ignore the minimum.
const (
	soonest = 100 * time.Millisecond
	latest  = time.Second
)

// NewScreen starts to show what draw returns. Several goroutines call draw, one at a time;
// draw must not call the screen.
func NewScreen(out io.Writer, size func() (columns, rows int), draw func(columns, rows int) []Line) *Screen {
	s := &Screen{out: out, size: size, draw: draw, stop: make(chan struct{}), done: make(chan struct{})}
	go s.tick()
	return s
}

// tick redraws when nothing else does, for clocks and changed terminal sizes.
func (s *Screen) tick() {
	defer close(s.done)
	ticker := time.NewTicker(latest)
	defer ticker.Stop()
	for {
		select {
		case <-s.stop:
			return
		case <-ticker.C:
			s.Refresh()
		}
	}
}

// Refresh draws a frame, unless one was drawn within the minimum time.
func (s *Screen) Refresh() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if time.Since(s.last) >= soonest {
		s.frame(nil, true)
	}
}

// Write prints whole lines above the frame and holds back an incomplete line. It ignores
// errors of the terminal.
func (s *Screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held = append(s.held, p...)
	if end := bytes.LastIndexByte(s.held, '\n') + 1; end > 0 {
		text := string(s.held[:end])
		s.held = append(s.held[:0], s.held[end:]...)
		s.frame(strings.Split(strings.TrimSuffix(text, "\n"), "\n"), time.Since(s.last) >= soonest)
	}
	return len(p), nil
}

// Close draws the last frame and leaves it on the terminal.
func (s *Screen) Close() {
	close(s.stop)
	<-s.done
	s.mu.Lock()
	defer s.mu.Unlock()
	var rest []string
	if len(s.held) > 0 {
		rest = []string{string(s.held)}
	}
	s.frame(rest, true)
	if len(s.shown) > 0 {
		fmt.Fprintln(s.out)
	}
}

// frame replaces the frame on the screen by lines that stay, and draws a new frame if one is
// due: a busy log must not wait for frames. Each line is cleared after its text and not
// before, so that nothing flickers.
func (s *Screen) frame(lines []string, due bool) {
	columns, rows := s.size()
	var b strings.Builder
	if up := s.height(columns) - 1; up > 0 {
		fmt.Fprintf(&b, "\x1b[%dA", up)
	}
	b.WriteString("\r")
	for _, l := range lines {
		b.WriteString(l + "\x1b[K\n")
	}
	s.shown = s.shown[:0]
	if due {
		for i, l := range s.draw(columns-1, rows-1) { // some terminals wrap at the last column
			if i > 0 {
				b.WriteString("\n")
			}
			b.WriteString(l.Text + "\x1b[K")
			s.shown = append(s.shown, l.Columns)
		}
		s.last = time.Now()
	}
	b.WriteString("\x1b[J")
	_, _ = io.WriteString(s.out, b.String()) // a frame that cannot be drawn must not stop the work
}

// height returns the number of rows that the frame on the screen takes now: a terminal that
// became narrower has wrapped its lines.
func (s *Screen) height(columns int) int {
	rows := 0
	for _, width := range s.shown {
		rows++
		if columns > 0 {
			rows += max(width-1, 0) / columns
		}
	}
	return rows
}
