// Package report writes the findings of an attack for other tools: SARIF for code scanning, JUnit XML
// for continuous integration, and fixtures for merit reward test.
//
// Replies and rows are untrusted. Texts for people have control characters and invalid bytes escaped,
// and are cut at a length; fixtures hold the replies unchanged.
package report

import (
	"fmt"
	"strings"

	"github.com/merit-rl/merit/internal/attack/finding"
	"github.com/merit-rl/merit/internal/cli/terminal"
	"github.com/merit-rl/merit/internal/wire/bounds"
)

// longest is how many bytes of a reply or a line are shown.
const longest = 4_000

// Meta says what was attacked, and how.
type Meta struct {
	Reward string // its file or folder, relative to the repository
	// Folder is what the files of findings are relative to, relative to the repository; "." is
	// the repository itself.
	Folder      string
	Version     string   // of Merit
	Tasks       []string // ids of the rows that were tried, in order
	Seed        uint64
	Rounds      int
	Evaluations int
}

// title says in one line what is wrong.
func title(f *finding.Finding) string {
	return fmt.Sprintf("A wrong reply to task %s scores %s, and the right reply scores %s (%s)", line(f.Task), number(f.Score), number(f.Right), line(f.Kind))
}

// explain says what is wrong and how to see that, a paragraph each.
func explain(f *finding.Finding) (paragraphs []string) {
	paragraphs = append(paragraphs, title(f)+".")
	if len(f.Evidence) > 0 {
		sentences := make([]string, len(f.Evidence))
		for i, e := range f.Evidence {
			sentences[i] = line(e)
		}
		paragraphs = append(paragraphs, strings.Join(sentences, " "))
	}
	if f.Source != "" {
		paragraphs = append(paragraphs, fmt.Sprintf("Line %d of %s accepts it: %s", f.Line, line(f.File), line(strings.TrimSpace(f.Source))))
	}
	if f.Others > 0 {
		paragraphs = append(paragraphs, fmt.Sprintf("Other replies that score high for the same cause: %d.", f.Others))
	}
	return paragraphs
}

// reply shows the reply, or the calls of a reply that has no text.
func reply(f *finding.Finding) string {
	switch {
	case strings.TrimSpace(f.Reply) != "":
		return text(f.Reply)
	case len(calls(f)) > 0:
		return strings.Join(calls(f), "\n")
	case f.Reply != "":
		return fmt.Sprintf("(%d characters of white space)", len([]rune(f.Reply)))
	}
	return "(empty)"
}

func calls(f *finding.Finding) (list []string) {
	if f.Row == nil || len(f.Row.Messages) == 0 {
		return nil
	}
	for _, c := range f.Row.Messages[len(f.Row.Messages)-1].ToolCalls {
		list = append(list, text(fmt.Sprintf("call %s(%s)", c.Function.Name, c.Function.Arguments)))
	}
	return list
}

// text makes an untrusted text of several lines safe to show.
func text(s string) string { return bounds.Cut(terminal.Printable(s), longest) }

// line makes an untrusted text safe to show on one line.
func line(s string) string { return strings.ReplaceAll(text(s), "\n", `\n`) }

func number(v float64) string { return fmt.Sprintf("%g", v) }
