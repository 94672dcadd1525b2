package labelcmd

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/rivo/uniseg"

	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/cli/terminal"
	"github.com/merit-rl/merit/internal/labels/labelling"
	"github.com/merit-rl/merit/internal/traces/trace"
)

// mostLines is how many lines of a trace are shown unless all are asked for:
// the last ones, which say how it came out.
const mostLines = 30

// show prints what is to be judged: what two traces have in common once, above
// the rest side by side.
func (s *session) show(ctx context.Context, item *labelling.Item, place string, full bool) error {
	style := s.host.OutStyle()
	var out strings.Builder
	fmt.Fprintf(&out, "\n%s  %s\n", style.Bold(place), terminal.Clean(item.Task))
	left, err := s.desk.Store.Trace(ctx, item.Left.ID)
	if err != nil {
		return err
	}
	a := told(left)
	width := s.width()
	if item.Right == nil {
		fmt.Fprintln(&out, style.Cyan(item.Left.ID))
		for _, line := range cut(lines(a, width), full) {
			fmt.Fprintln(&out, line)
		}
	} else {
		right, err := s.desk.Store.Trace(ctx, item.Right.ID)
		if err != nil {
			return err
		}
		b := told(right)
		common := 0
		for common < min(len(a), len(b))-1 && a[common] == b[common] {
			common++
		}
		for _, line := range cut(lines(a[:common], width), full) {
			fmt.Fprintln(&out, line)
		}
		beside(&out, style, (width-3)/2, append([]string{"1  " + left.ID}, cut(lines(a[common:], (width-3)/2), full)...), append([]string{"2  " + right.ID}, cut(lines(b[common:], (width-3)/2), full)...))
	}
	fmt.Fprintln(&out, style.Dim(strings.Join(s.keys(), "   ")))
	_, err = io.WriteString(s.host.Stdout, out.String())
	return err
}

func (s *session) width() int {
	if s.host.StderrSize != nil {
		if columns, _ := s.host.StderrSize(); columns >= 40 {
			return columns
		}
	}
	return 100
}

// told is a trace as paragraphs: what was said, by whom.
func told(t *trace.Trace) []string {
	var all []string
	for _, m := range t.Trajectory().Messages {
		who := m.Role
		if m.Role == rl.RoleAssistant && m.Name != "" {
			who = m.Name
		}
		all = append(all, terminal.Clean(who+": "+m.Content.Text()))
		for _, call := range m.ToolCalls {
			all = append(all, terminal.Clean(who+" calls "+call.Function.Name+"("+call.Function.Arguments+")"))
		}
	}
	if len(all) > 0 {
		return all
	}
	for i := range t.All { // nothing was said to a model: what else was done
		if text := t.All[i].Text; text != "" {
			all = append(all, terminal.Clean(t.All[i].Agent+": "+text))
		}
	}
	return all
}

// lines breaks paragraphs into lines of at most width columns.
func lines(paragraphs []string, width int) []string {
	var out []string
	for _, p := range paragraphs {
		for line := range strings.SplitSeq(p, "\n") {
			out = append(out, wrap(line, width)...)
		}
	}
	return out
}

// wrap breaks a line, between words if it can.
func wrap(line string, width int) []string {
	var out []string
	var now strings.Builder
	used := 0
	for word := range strings.SplitAfterSeq(line, " ") {
		for used+uniseg.StringWidth(strings.TrimRight(word, " ")) > width {
			if used == 0 { // longer than a line
				head := prefix(word, width)
				out, word = append(out, head), word[len(head):]
				continue
			}
			out = append(out, strings.TrimRight(now.String(), " "))
			now.Reset()
			used = 0
		}
		now.WriteString(word)
		used += uniseg.StringWidth(word)
	}
	return append(out, strings.TrimRight(now.String(), " "))
}

// prefix is as much of s as has width columns, one character at least.
func prefix(s string, width int) string {
	used, n, state := 0, 0, -1
	for rest := s; rest != ""; {
		var cluster string
		var w int
		cluster, rest, w, state = uniseg.FirstGraphemeClusterInString(rest, state)
		if n > 0 && used+w > width {
			break
		}
		n, used = n+len(cluster), used+w
	}
	return s[:n]
}

// cut leaves the last lines.
func cut(lines []string, full bool) []string {
	if full || len(lines) <= mostLines {
		return lines
	}
	left := len(lines) - mostLines
	return append([]string{fmt.Sprintf("… %d lines before (f shows them)", left)}, lines[left:]...)
}

// beside prints two columns.
func beside(out *strings.Builder, style terminal.Style, width int, left, right []string) {
	for i := range max(len(left), len(right)) {
		var a, b string
		if i < len(left) {
			a = left[i]
		}
		if i < len(right) {
			b = right[i]
		}
		pad := strings.Repeat(" ", max(0, width-uniseg.StringWidth(a)))
		if i == 0 {
			a, b = style.Cyan(a), style.Cyan(b)
		}
		fmt.Fprintln(out, strings.TrimRight(a+pad+" │ "+b, " "))
	}
}
