package explaincmd

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/cli/terminal"
	"github.com/merit-rl/merit/internal/recheck/explain"
)

// Limits of the output without --full.
const (
	shortLines = 16 // lines of a text
	shortPeers = 24 // rows of a table
)

type printer struct {
	style terminal.Style
	full  bool
	b     strings.Builder
}

func (p *printer) text(e *explain.Explanation) string {
	p.head(e)
	p.messages(e)
	p.tree(e)
	p.members(e)
	p.state(e)
	p.parts(e)
	p.others(e)
	for _, note := range e.Notes {
		p.line("· %s", note)
	}
	return p.b.String()
}

func (p *printer) line(format string, args ...any) { fmt.Fprintf(&p.b, format+"\n", args...) }

func (p *printer) title(format string, args ...any) {
	p.line("\n%s", p.style.Bold(fmt.Sprintf(format, args...)))
}

// head prints the result in three lines.
func (p *printer) head(e *explain.Explanation) {
	facts := []string{p.style.Bold(terminal.Clean(e.Trajectory)), fmt.Sprintf("step %d of 0 … %d", e.Step, e.Steps-1)}
	if e.Action != "" {
		facts = append(facts, "action "+p.style.Bold(p.short(e.Action, 1)))
	}
	if e.Iteration > 0 {
		facts = append(facts, fmt.Sprintf("iteration %d", e.Iteration))
	}
	p.line("%s", strings.Join(facts, "  "))
	p.line("advantage %s = %s", p.signed(e.Advantage), e.Sum())
	switch {
	case e.Checked == 0:
		p.line("%s", p.style.Dim("the file stores no advantages to compare with"))
	case e.Agree == e.Checked:
		p.line("%s", p.style.Green(fmt.Sprintf("the file stores the same numbers, bit for bit, for all %d steps of the group", e.Checked)))
	default:
		p.line("%s", p.style.Red(fmt.Sprintf("the file stores different numbers for %d of the %d steps of the group", e.Checked-e.Agree, e.Checked)))
		for _, d := range e.Differences {
			p.line("  %s: stored %s, computed %s", d.Field, exact(d.Saved), exact(d.Computed))
		}
	}
}

// messages prints what the policy saw and said, and the response.
func (p *printer) messages(e *explain.Explanation) {
	for _, m := range e.Messages {
		if m.Role == rl.RoleSystem && !p.full {
			continue
		}
		p.line("  %s", p.style.Cyan(terminal.Clean(m.Role)))
		if text := m.Content.Text(); text != "" {
			p.line("    %s", strings.ReplaceAll(p.short(text, shortLines), "\n", "\n  "))
		}
		for _, c := range m.ToolCalls {
			p.line("    %s", p.style.Yellow(p.short(c.Function.Name+"("+c.Function.Arguments+")", 1)))
		}
	}
}

// tree prints how the state of the step was played on.
func (p *printer) tree(e *explain.Explanation) {
	t := e.Tree
	if t == nil {
		return
	}
	if t.Of != "" {
		p.line("%s left %s at step %d", terminal.Clean(e.Trajectory), terminal.Clean(t.Of), t.At)
	}
	if len(t.Ways) > 1 {
		p.title("the state was played on %d times: it is worth %s, %s", len(t.Ways), explain.Number(t.Value), t.Rule)
		p.block("    ", t.State)
	}
	for i := range t.Ways {
		if len(t.Ways) > 1 && (i < shortPeers || p.full || t.Ways[i].Self) {
			p.way(&t.Ways[i], i+1 == len(t.Ways))
		}
	}
	if hidden := len(t.Ways) - shortPeers; hidden > 0 && !p.full {
		p.line("%s", p.style.Dim(fmt.Sprintf("… %d more (--full)", hidden)))
	}
	var left []string
	for _, l := range t.Left {
		left = append(left, fmt.Sprintf("%d (%d)", l.Step, l.Branches))
	}
	if len(left) > 0 {
		p.line("%s", p.style.Dim("other states of the episode with branches: step "+strings.Join(left, ", ")))
	}
}

// way prints one of the ways on from a state, and what followed its action.
func (p *printer) way(w *explain.Way, last bool) {
	mark, bar := "├─", "│ "
	if last {
		mark, bar = "└─", "  "
	}
	facts := []string{p.style.Bold(p.short(w.Action, 1)), terminal.Clean(w.Trajectory), fmt.Sprintf("%d steps", w.Steps)}
	if w.Score == nil {
		facts = append(facts, "no score: "+w.Outcome)
	} else {
		facts = append(facts, "score "+explain.Number(*w.Score))
		if w.Later > 0 {
			facts = append(facts, fmt.Sprintf("with its later branches %s", explain.Number(w.Mean)))
		}
		facts = append(facts, "G "+explain.Number(w.Return))
		if w.Learned {
			facts = append(facts, "A "+p.signed(w.Advantage))
		} else {
			facts = append(facts, "evidence only")
		}
	}
	if w.Self {
		facts = append(facts, "← this one")
	}
	p.line("  %s %s", mark, strings.Join(facts, "  "))
	p.block("  "+bar+"   ", w.State)
}

// block prints a text with the same beginning, which ends in two spaces, in each line: cleaned
// texts begin later lines with two.
func (p *printer) block(begin, text string) {
	if text != "" {
		p.line("%s%s", begin, strings.ReplaceAll(p.short(text, shortLines), "\n", "\n"+strings.TrimSuffix(begin, "  ")))
	}
}

// members prints the group and A_E.
func (p *printer) members(e *explain.Explanation) {
	p.title("group %s: scores of the members", terminal.Clean(e.Group))
	t := terminal.Table{Head: []string{"member", "score", "A_E", "steps", ""}}
	for _, m := range e.Members {
		score, a := "none", ""
		if m.Score != nil {
			score = explain.Number(*m.Score)
		}
		if m.Advantage != nil {
			a = explain.Signed(*m.Advantage)
		}
		remark := ""
		if m.Trajectory == e.Trajectory {
			remark = "← this one"
		}
		if m.Score == nil {
			remark = strings.TrimSpace(m.Outcome + " " + p.short(m.Reason, 1) + " " + remark)
		}
		t.Add(terminal.Clean(m.Trajectory), score, a, strconv.Itoa(m.Steps), remark)
	}
	p.table(t)
	p.term("A_E", e.EpisodeOf(), e.Episode)
}

// state prints the return, the anchor group and A_S.
func (p *printer) state(e *explain.Explanation) {
	if !e.Scored {
		return
	}
	p.title("from this step on")
	p.line("%s   %s", e.Return.Formula(e.Config.Gamma), p.style.Dim(e.NextIs()))
	if a := e.Anchor; a != nil {
		of := e.StepOf()
		if of == "A_E" { // peers do not show A_E, but their returns
			of = "G"
		}
		p.anchor(a, of)
	}
	p.graph(e)
	p.term(e.StepName(), e.StepOf(), e.StepTerm)
	p.term("+", "gain", e.GainTerm)
}

// graph prints how near the step leads to a success, and the way from there.
func (p *printer) graph(e *explain.Explanation) {
	g := e.Graph
	if g == nil {
		return
	}
	p.title("the way to a success: %s", g.Left())
	t := terminal.Table{Head: []string{"member", "step", "action", "state"}}
	for i, hop := range g.Path {
		if i >= shortPeers && !p.full {
			break
		}
		action := p.short(hop.Action, 1)
		if hop.Kept > 0 {
			action = fmt.Sprintf("(steps of earlier iterations: %d)", hop.Kept)
		}
		t.Add(terminal.Clean(hop.Trajectory), strconv.Itoa(hop.Step), action, p.short(strings.ReplaceAll(hop.State, "\n", "⏎"), 1))
	}
	if len(g.Path) > 0 {
		p.table(t)
	}
	p.edges(e)
	if q := g.Formula(e.Config); q != "" {
		p.line("%s", q)
	}
}

// edges prints where the steps from the state lead.
func (p *printer) edges(e *explain.Explanation) {
	p.title("where the steps from this state lead")
	t := terminal.Table{Head: []string{"next state", "action", "steps", "members", "to a success", e.NextName(), "A_S", ""}}
	for i, edge := range e.Edges {
		if i >= shortPeers && !p.full && !edge.Self {
			continue
		}
		remark := ""
		if edge.Self {
			remark = "← this one"
		}
		t.Add(p.short(strings.ReplaceAll(edge.Where(), "\n", "⏎"), 1), p.short(strings.Join(edge.Actions, ", "), 1), strconv.Itoa(edge.Steps), strconv.Itoa(edge.Members), edge.Left(), explain.Number(edge.Next), explain.Signed(edge.Value), remark)
	}
	p.table(t)
	if hidden := len(e.Edges) - len(t.Rows); hidden > 0 {
		p.line("%s", p.style.Dim(fmt.Sprintf("… and %d more (--full)", hidden)))
	}
}

// anchor prints the steps from the state; of is the value that they are compared by.
func (p *printer) anchor(a *explain.Anchor, of string) {
	like := ""
	if a.Similarity > 0 {
		like = fmt.Sprintf(" (similar by %g or more)", a.Similarity)
	}
	p.title("state %d: the %d steps of the group that saw it%s", a.Number, len(a.Steps), like)
	p.line("    %s", strings.ReplaceAll(p.short(a.Key, shortLines), "\n", "\n  "))
	t := terminal.Table{Head: []string{"member", "step", "action", of, "A_S", "A", ""}}
	for i, peer := range a.Steps {
		if i >= shortPeers && !p.full && !peer.Self {
			continue
		}
		remark := ""
		if peer.Self {
			remark = "← this one"
		}
		if peer.Key != "" {
			remark = "saw " + p.short(strings.ReplaceAll(peer.Key, "\n", "⏎"), 1)
		}
		t.Add(terminal.Clean(peer.Trajectory), strconv.Itoa(peer.Step), p.short(peer.Action, 1), explain.Number(peer.Compared(of)), explain.Signed(peer.Value), explain.Signed(peer.Advantage), remark)
	}
	p.table(t)
	if hidden := len(a.Steps) - len(t.Rows); hidden > 0 {
		p.line("%s", p.style.Dim(fmt.Sprintf("… %d more (--full)", hidden)))
	}
}

// parts prints the terms of estimators that have more than two.
func (p *printer) parts(e *explain.Explanation) {
	if len(e.Rewards) > 0 {
		p.title("rewards: each compared with the group by itself")
		t := terminal.Table{Head: []string{"reward", "R_k", "mean", "A_k", "weight", ""}}
		for _, r := range e.Rewards {
			t.Add(terminal.Clean(r.Name), explain.Number(r.Of), explain.Number(r.Mean), explain.Signed(r.Value), explain.Number(r.Weight), r.Rule)
		}
		p.table(t)
	}
	if len(e.Levels) > 0 {
		p.title("levels: steps that agree in more and more states")
		t := terminal.Table{Head: []string{"states", "steps", "mean", "A_j", "weight", ""}}
		for _, l := range e.Levels {
			t.Add(strconv.Itoa(l.Observations), strconv.Itoa(l.N), explain.Number(l.Mean), explain.Signed(l.Value), explain.Number(l.Weight), l.Rule)
		}
		p.table(t)
	}
	if len(e.Deltas) > 0 {
		p.title("deltas: r + γ V' − V of every step from here, by (γλ)^k")
		t := terminal.Table{Head: []string{"step", "r", "V", "V'", "delta", "weight"}}
		for _, d := range e.Deltas {
			t.Add(strconv.Itoa(d.Step), explain.Number(d.Reward), explain.Number(d.Value), explain.Number(d.Next), explain.Signed(d.Delta), explain.Number(d.Weight))
		}
		p.table(t)
	}
}

// others prints the advantages under other settings.
func (p *printer) others(e *explain.Explanation) {
	if len(e.Others) > 0 {
		p.title("under other settings")
		t := terminal.Table{Head: []string{"", "A_E", "A_S", "A"}}
		for _, o := range e.Others {
			t.Add(o.Name, explain.Signed(o.EpisodeAdvantage), explain.Signed(o.StepAdvantage), explain.Signed(o.Advantage))
		}
		p.table(t)
	}
	if len(e.Notes) > 0 {
		p.line("")
	}
}

// term prints a comparison with its numbers.
func (p *printer) term(name, of string, t *explain.Term) {
	if t == nil {
		return
	}
	p.line("%s   %s", t.Formula(name, of), p.style.Dim(t.Rule))
}

func (p *printer) table(t terminal.Table) { _ = t.Write(&p.b) } // a strings.Builder does not fail

// short returns at most the given number of lines of a text, safe for a terminal.
func (p *printer) short(text string, lines int) string {
	all := strings.Split(terminal.Clean(strings.Trim(text, "\n")), "\n")
	if len(all) > lines && !p.full {
		all = append(all[:lines:lines], "…")
	}
	if lines == 1 {
		const most = 60
		if r := []rune(all[0]); len(r) > most && !p.full {
			return string(r[:most]) + "…"
		}
		return strings.Join(all, "")
	}
	return strings.Join(all, "\n")
}

func (p *printer) signed(x float64) string {
	switch {
	case x > 0:
		return p.style.Green(explain.Signed(x))
	case x < 0:
		return p.style.Red(explain.Signed(x))
	}
	return "0"
}

// exact formats every bit of x.
func exact(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
