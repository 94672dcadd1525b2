// Package live draws the progress of merit train on a terminal, in place: learning curves, the
// remaining time, and red flags. Frame is a pure function of the run and the terminal size;
// Screen writes frames to the terminal.
package live

import (
	"fmt"
	"strings"
	"time"

	"github.com/rivo/uniseg"

	"github.com/merit-rl/merit/core/run"
	"github.com/merit-rl/merit/internal/cli/terminal"
)

// State is what a frame shows.
type State struct {
	History []run.Iteration // in order, including earlier sessions
	Total   int             // maximum iterations
	Steps   int             // maximum environment steps of training; 0 is unlimited
	Elapsed time.Duration   // of this session
	// What is being collected or evaluated, and its progress: done of planned episodes.
	What          string
	Done, Planned int
	Final         bool // the evaluations after the last iteration
	Over          bool // the run has stopped
}

// Line is a line of a frame and its width in columns. Its text may contain color codes.
type Line struct {
	Text    string
	Columns int
}

// Frame draws s on at most height lines of at most width columns. If space is short, it drops
// the least important lines first. A size of 0 columns or lines is unknown and drawn as 80 ×
// 24.
func Frame(s State, width, height int, style terminal.Style) []Line {
	if width <= 0 || height <= 0 {
		width, height = 80, 24
	}
	lines := []line{header(s, width)}
	for _, c := range curves(s.History) {
		lines = append(lines, c.line(width))
	}
	if flags := monitors(s.History); flags != nil {
		at := min(len(lines), max(height-1, 1)) // the last curves are dropped before it
		lines = append(lines[:at], flags)
	}
	lines = lines[:min(len(lines), height)]
	out := make([]Line, len(lines))
	for i, l := range lines {
		out[i] = l.render(width, style)
	}
	return out
}

// line is a text in parts, each with its own style. Parts that do not fit are dropped from the
// end; the first two are shortened instead.
type line []part

type part struct {
	text  string
	paint func(terminal.Style, string) string // nil is plain text
}

func (l line) render(width int, style terminal.Style) Line {
	var b strings.Builder
	used := 0
	for i, p := range l {
		text := terminal.Printable(p.text)
		if used+uniseg.StringWidth(text) > width {
			if i > 1 {
				break
			}
			text = cut(text, width-used)
		}
		used += uniseg.StringWidth(text)
		if p.paint != nil {
			text = p.paint(style, text)
		}
		b.WriteString(text)
	}
	return Line{b.String(), used}
}

// cut shortens text to width columns.
func cut(text string, width int) string {
	var b strings.Builder
	for graphemes := uniseg.NewGraphemes(text); graphemes.Next(); {
		if width -= graphemes.Width(); width < 0 {
			break
		}
		b.WriteString(graphemes.Str())
	}
	return b.String()
}

// header returns the line with the progress of the run.
func header(s State, width int) line {
	last := run.Iteration{}
	if n := len(s.History); n > 0 {
		last = s.History[n-1]
	}
	head, share := fmt.Sprintf("iteration %d/%d", last.Iteration, s.Total), progress(s, last)
	if s.Final && !s.Over {
		head, share = fmt.Sprintf("%s %d/%d", s.What, s.Done, s.Planned), float64(s.Done)/float64(max(s.Planned, 1))
	}
	l := line{{text: head, paint: terminal.Style.Bold}}
	if bar := min(width-60, 24); bar >= 8 {
		full := int(share*float64(bar) + 0.5)
		l = append(l, part{text: "  " + strings.Repeat("█", full), paint: terminal.Style.Cyan}, part{text: strings.Repeat("░", bar-full), paint: terminal.Style.Dim})
	}
	l = append(l, part{text: fmt.Sprintf("  %.0f %%", 100*share)}, part{text: "  " + spell(s.Elapsed)})
	if left, ok := Left(s); ok {
		l = append(l, part{text: ", at most " + spell(left) + " left"})
	}
	if rate := last.Time.StepsPerSecond; rate > 0 && !s.Over {
		l = append(l, part{text: "  " + rateText(rate), paint: terminal.Style.Dim})
	}
	if s.What != "" && !s.Final && !s.Over {
		l = append(l, part{text: fmt.Sprintf("  %s %d/%d", s.What, s.Done, s.Planned), paint: terminal.Style.Dim})
	}
	return l
}

// progress returns the finished share of the run, by the limit that it reaches first.
func progress(s State, last run.Iteration) float64 {
	share := float64(last.Iteration) / float64(max(s.Total, 1))
	if s.Steps > 0 {
		share = max(share, float64(last.EnvSteps)/float64(s.Steps))
	}
	return min(share, 1)
}

// recent is the number of iterations from which the remaining time is estimated.
const recent = 20

// Left returns the time that the remaining iterations take at the pace of the last ones, and
// reports whether that is known. A run that reaches its target stops earlier. The evaluations
// after the last iteration are not included.
func Left(s State) (time.Duration, bool) {
	var last *run.Iteration
	spent, n := 0.0, 0
	for i := len(s.History) - 1; i >= 0 && n < recent; i-- {
		if it := &s.History[i]; it.Rollout != nil {
			if last == nil {
				last = it
			}
			spent, n = spent+it.Time.Total, n+1
		}
	}
	if last == nil || s.Final || s.Over {
		return 0, false
	}
	left := float64(s.Total - last.Iteration)
	if s.Steps > 0 && last.EnvSteps > 0 {
		perIteration := float64(last.EnvSteps) / float64(last.Iteration)
		left = min(left, (float64(s.Steps)-float64(last.EnvSteps))/perIteration)
	}
	return time.Duration(max(left, 0) * spent / float64(n) * float64(time.Second)), true
}

// spell formats d for people: 45s, 12m05s, 3h04m.
func spell(d time.Duration) string {
	d = d.Round(time.Second)
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
	}
	return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
}

func rateText(rate float64) string {
	if rate >= 1000 {
		return fmt.Sprintf("%.0fk steps/s", rate/1000)
	}
	return fmt.Sprintf("%.1f steps/s", rate) // a step of a language model takes seconds
}
