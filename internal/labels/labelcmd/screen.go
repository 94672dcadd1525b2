package labelcmd

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/rivo/uniseg"

	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/cli/console"
	"github.com/merit-rl/merit/internal/cli/terminal"
	"github.com/merit-rl/merit/internal/labels/labelling"
	"github.com/merit-rl/merit/internal/traces/trace"
)

// mostLines is the number of lines of a trace to show by default: the last ones, which
// show the result.
const mostLines = 30

// show prints the question: what two traces have in common once, and the rest side by
// side.
func (s *session) show(ctx context.Context, item *labelling.Item, place string, full bool) error {
	style := s.host.OutStyle()
	var out strings.Builder
	fmt.Fprintf(&out, "\n%s  %s\n", style.Bold(place), terminal.Clean(item.Task))
	left, err := s.questions.Store.Trace(ctx, item.Left.ID)
	if err != nil {
		return err
	}
	a := told(left)
	width := width(s.host)
	if item.Right == nil {
		fmt.Fprintln(&out, style.Cyan(item.Left.ID))
		for _, line := range cut(lines(a, width), full) {
			fmt.Fprintln(&out, line)
		}
	} else {
		right, err := s.questions.Store.Trace(ctx, item.Right.ID)
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

// width returns the number of columns of the screen.
func width(h *console.Host) int {
	if h.StderrSize != nil {
		if columns, _ := h.StderrSize(); columns >= 40 {
			return columns
		}
	}
	return 100
}

// told returns a trace as paragraphs with their speakers.
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
	for i := range t.All { // without model calls, show the other actions
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

// wrap breaks a line, between words if possible.
func wrap(line string, width int) []string {
	var out []string
	var now strings.Builder
	used := 0
	for word := range strings.SplitAfterSeq(line, " ") {
		for used+uniseg.StringWidth(strings.TrimRight(word, " ")) > width {
			if used == 0 { // a word that is longer than a line
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

// prefix returns the part of s that fits into width columns, but at least one character.
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

// cut returns the last lines.
func cut(lines []string, full bool) []string {
	if full || len(lines) <= mostLines {
		return lines
	}
	left := len(lines) - mostLines
	return append([]string{fmt.Sprintf("… %s (f for all)", terminal.Count(left, "earlier line"))}, lines[left:]...)
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
