// Package show prints trajectories for people.
package show

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/rivo/uniseg"

	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/cli/terminal"
)

// boardsWidth is the maximum number of columns of a row of boards.
const boardsWidth = 100

// shortLines is the number of lines of a text to show without --full.
const shortLines = 16

// Printer writes trajectories for people.
type Printer struct {
	Style  terminal.Style
	Full   bool // nothing shortened, system prompts too
	Boards bool // states side by side instead of one step after the other
}

// Trajectory returns the text of t.
func (p *Printer) Trajectory(t *rl.Trajectory) string {
	var b strings.Builder
	p.head(&b, t)
	switch {
	case len(t.Steps) == 0:
		p.conversation(&b, t)
	case p.Boards:
		p.sideBySide(&b, t)
	default:
		p.steps(&b, t)
	}
	b.WriteString("\n")
	return b.String()
}

func (p *Printer) head(b *strings.Builder, t *rl.Trajectory) {
	facts := []string{p.Style.Bold(terminal.Clean(t.ID))}
	if t.Group != "" {
		facts = append(facts, "group "+terminal.Clean(t.Group))
	}
	if t.BranchOf != "" {
		facts = append(facts, fmt.Sprintf("leaves %s at step %d", terminal.Clean(t.BranchOf), t.BranchAt))
	}
	if len(t.Steps) > 0 {
		facts = append(facts, fmt.Sprintf("%d steps", len(t.Steps)))
	}
	if t.StopReason != "" {
		facts = append(facts, string(t.StopReason))
	}
	if t.Outcome != "" {
		facts = append(facts, p.outcome(t))
	}
	b.WriteString(strings.Join(facts, "  ") + "\n")
	if t.Error != "" {
		b.WriteString("  " + p.Style.Red("error ") + terminal.Clean(t.Error) + "\n")
	}
	if t.Evaluation != nil && t.Evaluation.Reason != "" {
		b.WriteString("  " + p.Style.Dim("reason ") + terminal.Clean(t.Evaluation.Reason) + "\n")
	}
}

func (p *Printer) outcome(t *rl.Trajectory) string {
	if t.Outcome != string(reward.Scored) {
		return p.Style.Red(t.Outcome)
	}
	if t.Evaluation == nil {
		return p.Style.Green(t.Outcome)
	}
	return p.Style.Green(fmt.Sprintf("score %.4g", t.Evaluation.Score))
}

// steps prints each step as the policy saw it; of a branch, its own ones.
func (p *Printer) steps(b *strings.Builder, t *rl.Trajectory) {
	seen, first := 0, 0
	if t.BranchOf != "" && t.BranchAt > 0 && t.BranchAt < len(t.Steps) {
		first = t.BranchAt
		seen = max(0, t.Steps[first].MessageCount-1)
	}
	for i := first; i < len(t.Steps); i++ {
		s := &t.Steps[i]
		fmt.Fprintf(b, "%s\n", p.Style.Dim(fmt.Sprintf("step %d", s.Index)))
		count := min(s.MessageCount, len(t.Messages))
		for _, m := range t.Messages[min(seen, count):count] {
			p.message(b, &m)
		}
		seen = s.MessageCount + 1 // the action's own message
		fmt.Fprintf(b, "  → %s  %s\n", p.Style.Bold(actionText(s)), p.numbers(s))
	}
	if seen < len(t.Messages) {
		b.WriteString(p.Style.Dim("end") + "\n")
		for _, m := range t.Messages[seen:] {
			p.message(b, &m)
		}
	}
}

// conversation prints a trajectory that has messages only, with the step
// outputs of its evaluation next to the assistant's turns.
func (p *Printer) conversation(b *strings.Builder, t *rl.Trajectory) {
	turn := 0
	for i := range t.Messages {
		m := &t.Messages[i]
		p.message(b, m)
		if m.Role != rl.RoleAssistant {
			continue
		}
		if t.Evaluation != nil {
			for _, s := range t.Evaluation.StepOutputs {
				if int(s.StepIndex) == turn {
					fmt.Fprintf(b, "  %s\n", p.Style.Cyan(fmt.Sprintf("reward %.4g  %s", s.BaseReward, terminal.Clean(s.Reason))))
				}
			}
		}
		turn++
	}
}

func (p *Printer) message(b *strings.Builder, m *rl.Message) {
	if m.Role == rl.RoleSystem && !p.Full {
		return
	}
	fmt.Fprintf(b, "  %s\n", p.Style.Cyan(terminal.Clean(m.Role)))
	lines := strings.Split(terminal.Clean(m.Content.Text()), "\n  ")
	if cut := len(lines) - shortLines; cut > 0 && !p.Full {
		lines = append(lines[:shortLines], p.Style.Dim(fmt.Sprintf("… %d more lines (--full)", cut)))
	}
	for _, line := range lines {
		fmt.Fprintf(b, "    %s\n", line)
	}
	for _, c := range m.ToolCalls {
		fmt.Fprintf(b, "    %s\n", p.Style.Yellow(terminal.Clean(c.Function.Name+"("+c.Function.Arguments+")")))
	}
}

// sideBySide prints the states of the steps as blocks next to each other.
func (p *Printer) sideBySide(b *strings.Builder, t *rl.Trajectory) {
	var all []block
	width := 0
	for i := range t.Steps {
		s := &t.Steps[i]
		caption := fmt.Sprintf("%d %s", s.Index, actionText(s))
		if s.Credit != nil {
			caption += fmt.Sprintf(" A %+.2f", s.Credit.Advantage)
		}
		k := newBlock(append(strings.Split(terminal.Clean(State(t, s)), "\n  "), caption))
		all = append(all, k)
		width = max(width, k.width)
	}
	perRow := max(1, boardsWidth/(width+3))
	for from := 0; from < len(all); from += perRow {
		writeBlocks(b, all[from:min(from+perRow, len(all))], width)
	}
}

// State returns the text that best shows a step's state: a board in its anchor, or else the
// last message that the policy saw.
func State(t *rl.Trajectory, s *rl.Step) string {
	if strings.Contains(s.Anchor, "\n") || s.MessageCount == 0 || s.MessageCount > len(t.Messages) {
		return strings.TrimRight(s.Anchor, "\n")
	}
	return strings.TrimRight(t.Messages[s.MessageCount-1].Content.Text(), "\n")
}

type block struct {
	lines []string
	width int
}

func newBlock(lines []string) block {
	k := block{lines: lines}
	for _, line := range lines {
		k.width = max(k.width, uniseg.StringWidth(line))
	}
	return k
}

func writeBlocks(b *strings.Builder, row []block, width int) {
	height := 0
	for _, k := range row {
		height = max(height, len(k.lines))
	}
	for y := range height {
		var line strings.Builder
		for _, k := range row {
			text := ""
			if gap := height - len(k.lines); y >= gap { // captions stand on one line
				text = k.lines[y-gap]
			}
			line.WriteString(text + strings.Repeat(" ", width-uniseg.StringWidth(text)+3))
		}
		b.WriteString("  " + strings.TrimRight(line.String(), " ") + "\n")
	}
	if height > 0 {
		b.WriteString("\n")
	}
}

func actionText(s *rl.Step) string {
	text := s.Action.Text
	switch {
	case len(s.Action.ToolCalls) > 0:
		text = s.Action.ToolCalls[0].Function.Name
	case text == "" && s.Action.Choice < len(s.Available) && s.Action.Choice >= 0:
		text = s.Available[s.Action.Choice]
	case text == "":
		text = strconv.Itoa(s.Action.Choice)
	}
	text, _, _ = strings.Cut(terminal.Clean(text), "\n")
	return text
}

// numbers lists what is known about a step.
func (p *Printer) numbers(s *rl.Step) string {
	parts := []string{fmt.Sprintf("log p %.3f", s.LogProb), fmt.Sprintf("H %.3f", s.Entropy)}
	if s.Value != nil {
		parts = append(parts, fmt.Sprintf("V %.3f", *s.Value))
	}
	if !s.ActionValid {
		parts = append(parts, p.Style.Yellow("invalid"))
	}
	if c := s.Credit; c != nil {
		parts = append(parts, fmt.Sprintf("reward %.4g", c.BaseReward), fmt.Sprintf("G %.4g", c.Return),
			fmt.Sprintf("A_E %+.3f", c.EpisodeAdvantage), fmt.Sprintf("A_S %+.3f", c.StepAdvantage), p.signed("A", c.Advantage))
		if c.AnchorGroup >= 0 {
			parts = append(parts, fmt.Sprintf("anchor %d", c.AnchorGroup))
		}
	} else {
		parts = append(parts, fmt.Sprintf("env reward %.4g", s.EnvReward))
	}
	return strings.Join(parts, "  ")
}

func (p *Printer) signed(name string, x float64) string {
	text := fmt.Sprintf("%s %+.3f", name, x)
	switch {
	case x > 0:
		return p.Style.Green(text)
	case x < 0:
		return p.Style.Red(text)
	}
	return text
}
