package scores

import (
	"strings"

	"github.com/rivo/uniseg"

	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/cli/terminal"
)

// mostKept is how many columns of a text an overview keeps.
const mostKept = 400

// completion returns the start and the end of what the policy last said: its last message with
// a text, or its last tool calls, or its last action.
func completion(t *rl.Trajectory) string {
	for i := len(t.Messages) - 1; i >= t.Given(); i-- {
		if m := &t.Messages[i]; m.Role == rl.RoleAssistant {
			if text := said(m); text != "" {
				return shorten(text, mostKept)
			}
		}
	}
	if n := len(t.Steps); n > 0 {
		return shorten(t.Steps[n-1].Action.Text, mostKept)
	}
	return ""
}

// said returns the text of a message, or its tool calls.
func said(m *rl.Message) string {
	if text := strings.TrimSpace(m.Content.Text()); text != "" {
		return text
	}
	var calls []string
	for _, c := range m.ToolCalls {
		calls = append(calls, c.Function.Name+"("+c.Function.Arguments+")")
	}
	return strings.Join(calls, " ")
}

// shorten returns text as one printable line of at most this many columns. A longer text keeps
// its start and its end, where answers often are.
func shorten(text string, columns int) string {
	const bytesPerColumn = 64 // more than any character that people use
	if most := columns * bytesPerColumn; len(text) > 2*most {
		text = text[:most] + "\n" + text[len(text)-most:]
	}
	text = strings.Join(strings.Fields(terminal.Printable(text)), " ")
	if width(text) <= columns {
		return text
	}
	tail := columns / 3
	return strings.TrimRight(head(text, columns-tail-1), " ") + "…" + strings.TrimLeft(end(text, tail), " ")
}

// head returns the first characters of text, in at most this many columns.
func head(text string, columns int) string {
	used, state := 0, -1
	for rest := text; rest != ""; {
		_, after, w, next := uniseg.FirstGraphemeClusterInString(rest, state)
		if used+w > columns {
			return text[:len(text)-len(rest)]
		}
		rest, used, state = after, used+w, next
	}
	return text
}

// end returns the last characters of text, in at most this many columns.
func end(text string, columns int) string {
	left, state := width(text), -1
	for text != "" && left > columns {
		_, after, w, next := uniseg.FirstGraphemeClusterInString(text, state)
		text, left, state = after, left-w, next
	}
	return text
}

func width(text string) int { return uniseg.StringWidth(text) }
