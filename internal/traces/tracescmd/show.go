package tracescmd

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/cli/console"
	"github.com/merit-rl/merit/internal/cli/terminal"
	"github.com/merit-rl/merit/internal/traces/store"
	"github.com/merit-rl/merit/internal/traces/trace"
)

// newShowCmd returns merit traces show.
func newShowCmd(p *place) *cobra.Command {
	var full bool
	cmd := console.Verb(&cobra.Command{
		Use:   "show ID",
		Short: "Show a trace as a timeline",
		Long: `Show prints the spans of a trace in order of their starts: model calls with new messages
and the answer, tools with their inputs and outputs, votes and answers of agents, and
rewards. With --json, it prints the whole trace.`,
		Example: "  merit traces show 4f2a --full",
		Args:    console.Exactly("ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			ask := func(s *store.Store) (*trace.Trace, error) { return s.Trace(cmd.Context(), args[0]) }
			return asked(p, cmd.Context(), ask, func(t *trace.Trace) error {
				line := &timeline{style: p.host.OutStyle(), full: full}
				line.trace(t)
				_, err := io.WriteString(p.host.Stdout, line.out.String())
				return err
			})
		},
	})
	cmd.Flags().BoolVar(&full, "full", false, "print texts in full")
	return console.Paged(p.host, cmd)
}

// timeline prints a trace as text. All text in a trace is untrusted.
type timeline struct {
	style terminal.Style
	full  bool
	out   strings.Builder
	begun time.Time
	known trace.Histories
}

func (l *timeline) trace(t *trace.Trace) {
	l.begun, l.known = t.Start, trace.Histories{}
	fmt.Fprintf(&l.out, "%s  %s\n", l.style.Bold(t.ID), terminal.Clean(strings.Join(nonempty(t.Agent, t.Task, string(t.Status)), "  ")))
	fmt.Fprintf(&l.out, "%s, %s, %s, %s, reward %s\n", t.Start.UTC().Format(time.RFC3339), took(t.End.Sub(t.Start)), terminal.Count(len(t.All), "span"), terminal.Count(t.Errors, "error"), number(t.Reward))
	for _, name := range slices.Sorted(maps.Keys(t.Metadata)) {
		l.field(name, string(t.Metadata[name]))
	}
	for i := range t.All {
		l.out.WriteByte('\n')
		l.span(&t.All[i])
	}
}

func (l *timeline) span(s *trace.Span) {
	name := s.Name
	if s.Kind == trace.KindPrompt && s.Prompt.Model != "" {
		name = s.Prompt.Model
	}
	head := strings.Join(nonempty(s.Agent, string(s.Kind), name), "  ")
	at := fmt.Sprintf("+%.3f s", s.Start.Sub(l.begun).Seconds())
	if s.Kind == trace.KindReward { // given after the trace ended
		at = s.Start.UTC().Format(time.DateTime)
	}
	fmt.Fprintf(&l.out, "%10s  %s  %s", at, l.style.Cyan(terminal.Clean(head)), l.style.Dim(took(s.End.Sub(s.Start))+"  "+s.ID))
	if s.Status == trace.StatusError {
		l.out.WriteString("  " + l.style.Red("error"))
	}
	l.out.WriteByte('\n')
	l.field("error", s.Error)
	switch s.Kind {
	case trace.KindPrompt:
		l.call(s)
	case trace.KindTool:
		l.field("arguments", s.Tool.Arguments)
		l.field("result", s.Tool.Result)
	case trace.KindReward:
		l.reward(s.Reward)
	case trace.KindCoordination:
		c := s.Coordination
		said := fmt.Sprintf("round %d", c.Round)
		if c.For != "" {
			said += ", for " + c.For
		}
		if c.Event == trace.EventEnd {
			said += fmt.Sprintf(", consensus %t", c.Consensus)
		}
		l.field(string(c.Event), said)
	}
	l.field("text", s.Text)
	if s.Kind == trace.KindPrompt {
		l.field("parent", s.Parent)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Attributes)) {
		l.field(name, string(s.Attributes[name]))
	}
}

func (l *timeline) call(s *trace.Span) {
	c := s.Prompt
	added := trace.Added(l.known.Before(s), c.Messages)
	if left := len(c.Messages) - len(added); left > 0 {
		l.field("…", terminal.Count(left, "earlier message"))
	}
	for _, m := range added {
		l.message(m)
	}
	if c.Answer != nil {
		l.message(*c.Answer)
		l.known.Add(s)
	}
	if c.Usage != nil {
		l.field("tokens", fmt.Sprintf("%d in, %d out", c.Usage.PromptTokens, c.Usage.CompletionTokens))
	}
}

func (l *timeline) message(m rl.Message) {
	l.field(m.Role, m.Content.Text())
	for _, call := range m.ToolCalls {
		l.field(m.Role+" calls", call.Function.Name+"("+call.Function.Arguments+")")
	}
}

func (l *timeline) reward(r *trace.Reward) {
	said := r.Outcome
	if r.Score != nil {
		said = number(r.Score)
	}
	if r.Of != "" {
		said += ", of span " + r.Of
	}
	if r.By != "" {
		said += ", by " + r.By
	}
	if r.Result != nil && r.Result.Reason != "" {
		said += ": " + r.Result.Reason
	}
	l.field("reward", said)
}

// most is the maximum number of runes of a text to print.
const most = 600

// field prints a name and a text with its lines indented, or nothing if it is empty.
func (l *timeline) field(name, text string) {
	if text == "" {
		return
	}
	if runes := []rune(text); !l.full && len(runes) > most {
		text = string(runes[:most]) + fmt.Sprintf("… (%d more; --full)", len(runes)-most)
	}
	first := fmt.Sprintf("            %-12s  ", terminal.Clean(name))
	for line := range strings.Lines(terminal.Printable(text)) {
		l.out.WriteString(strings.TrimRight(first+line, " \n") + "\n")
		first = strings.Repeat(" ", 26)
	}
}

// nonempty returns the words that are not empty.
func nonempty(words ...string) []string {
	return slices.DeleteFunc(words, func(w string) bool { return w == "" })
}
