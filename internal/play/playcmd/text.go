package playcmd

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/merit-rl/merit/internal/cli/show"
	"github.com/merit-rl/merit/internal/cli/terminal"
	"github.com/merit-rl/merit/internal/play"
	"github.com/merit-rl/merit/internal/runs/live"
)

// bins is the number of columns of a small picture of scores, and widest that of a curve.
const (
	bins   = 10
	widest = 72
)

// stepText shows a step: the state, and what the policy would do.
func (t *table) stepText(g *play.Game, i int) string {
	var b strings.Builder
	s, seen := &g.Episode.Steps[i], g.Seen[i]
	recorded := play.Action(s)
	fmt.Fprintf(&b, "%s  step %d of 0 … %d\n", t.style().Bold(terminal.Clean(g.Episode.ID)), i, len(g.Episode.Steps)-1)
	for line := range strings.SplitSeq(terminal.Printable(show.State(g.Episode, s)), "\n") {
		b.WriteString("    " + line + "\n")
	}
	if seen.P == nil {
		fmt.Fprintf(&b, "  recorded: %s\n", t.style().Bold(oneLine(recorded)))
		if seen.Available != nil {
			fmt.Fprintf(&b, "  available: %s\n", terminal.Clean(strings.Join(seen.Available, ", ")))
		}
		return b.String()
	}
	var rows terminal.Table
	for k, name := range seen.Available {
		note := ""
		if name == recorded {
			note = "recorded"
		}
		rows.Add(" ", name, fmt.Sprintf("%.3f", seen.P[k]), strings.Repeat("█", int(math.Round(20*seen.P[k]))), note)
	}
	_ = rows.Write(&b) // a strings.Builder cannot fail
	if seen.Value != nil {
		fmt.Fprintf(&b, "  value %.3f\n", *seen.Value)
	}
	return b.String()
}

func oneLine(text string) string {
	line, _, more := strings.Cut(terminal.Clean(text), "\n")
	if more || len(line) > 60 {
		line = string([]rune(line)[:min(60, len([]rune(line)))]) + " …"
	}
	return line
}

// forkText compares the actions that were tried at a step.
func (t *table) forkText(f *play.Fork) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s after each action, by %s\n", terminal.Count(f.Continuations, "continuation"), terminal.Clean(t.who))
	low, high := scoresOf(f)
	scores := ""
	if high > low {
		scores = fmt.Sprintf("scores %.3g … %.3g", low, high)
	}
	what := f.Measure()
	table := terminal.Table{Head: []string{fmt.Sprintf("step %d", f.Step), "", "success", "95 %", "score", "steps", "change in " + what, "95 %", scores}}
	for _, branch := range f.Branches {
		table.Add(t.branchCells(&branch, what, low, high)...)
	}
	dropEmpty(&table)
	_ = table.Write(&b)
	fmt.Fprintf(&b, "\n%s\n", verdict(f))
	if n := unscored(f); n > 0 {
		fmt.Fprintf(&b, "%s without a score\n", terminal.Count(n, "continuation"))
	}
	return b.String()
}

// verdict says which action would have been better.
func verdict(f *play.Fork) string {
	better, worse := f.Best()
	recorded := oneLine(f.Branches[0].Action)
	say := func(b *play.Branch, word string) string {
		name := oneLine(b.Action)
		if b.Action == "" {
			name = "the policy's own choice"
		}
		from, to := f.Branches[0].Success, b.Success
		if f.Measure() == play.Score {
			from, to = f.Branches[0].Score, b.Score
		}
		return fmt.Sprintf("%s is %s than %s: %s %s → %s", name, word, recorded, f.Measure(), level(f.Measure(), from.Mean), level(f.Measure(), to.Mean))
	}
	switch {
	case better != nil:
		return say(better, "better")
	case worse != nil:
		return "no action is better than " + recorded + "; " + say(worse, "worse")
	}
	return "no action differs from " + recorded + " beyond chance"
}

func (t *table) branchCells(branch *play.Branch, what string, low, high float64) []string {
	name, note := oneLine(branch.Action), ""
	if branch.Recorded {
		note = "recorded"
	} else if branch.Action == "" {
		name = "the policy's own"
	}
	if branch.Success == nil {
		return []string{name, note, "–", "", "–", "–", "", "", ""}
	}
	cells := []string{
		name, note, terminal.Percent(branch.Success.Mean), percents(branch.Success), fmt.Sprintf("%.3f", branch.Score.Mean),
		fmt.Sprintf("%.1f", branch.Steps.Mean), "", "", picture(branch, low, high),
	}
	change := branch.SuccessChange
	if what != play.Success {
		change = branch.ScoreChange
	}
	if change != nil {
		cells[6], cells[7] = signed(what, change.Mean), fmt.Sprintf("[%s, %s]", signed(what, change.Interval[0]), signed(what, change.Interval[1]))
	}
	return cells
}

func percents(e *play.Estimate) string {
	return fmt.Sprintf("[%.1f, %.1f]", 100*e.Interval[0], 100*e.Interval[1])
}

// signed formats a change: of a share in percentage points.
func signed(what string, x float64) string {
	if what == play.Success {
		return fmt.Sprintf("%+.1f", 100*x)
	}
	return fmt.Sprintf("%+.3f", x)
}

// scoresOf returns the smallest and the largest score, or 0 and 0 if there are no more than two
// different ones, of which success says enough.
func scoresOf(f *play.Fork) (low, high float64) {
	seen := map[float64]bool{}
	low, high = math.Inf(1), math.Inf(-1)
	for _, b := range f.Branches {
		for _, r := range b.Results {
			if r.Score != nil {
				seen[*r.Score] = true
				low, high = min(low, *r.Score), max(high, *r.Score)
			}
		}
	}
	if len(seen) <= 2 {
		return 0, 0
	}
	return low, high
}

// picture draws how many continuations have which score.
func picture(b *play.Branch, low, high float64) string {
	if high <= low {
		return ""
	}
	counts := make([]float64, bins)
	for _, r := range b.Results {
		if r.Score != nil {
			counts[min(bins-1, int((*r.Score-low)/(high-low)*bins))]++
		}
	}
	for i, n := range counts {
		if n == 0 {
			counts[i] = math.NaN()
		}
	}
	return strings.TrimRight(live.Spark(counts, bins, 0, float64(len(b.Results))), " ")
}

func unscored(f *play.Fork) (n int) {
	for _, b := range f.Branches {
		n += b.Unscored
	}
	return n
}

// curveText shows how good each state of an episode was.
func (t *table) curveText(c *play.Curve) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s  %s from the state before each step, by %s\n", t.style().Bold(terminal.Clean(c.Episode)), terminal.Count(c.Continuations, "continuation"), terminal.Clean(t.who))
	fmt.Fprintf(&b, "%s  %s\n\n", c.Measure, t.style().Cyan(spark(c)))
	table := terminal.Table{Head: []string{"step", "action", "p", "value", "success", "95 %", "score", "change in " + c.Measure, "95 %", ""}}
	for i := range c.Points {
		table.Add(pointCells(c, &c.Points[i])...)
	}
	dropEmpty(&table)
	_ = table.Write(&b)
	fmt.Fprintf(&b, "\n%s\n", t.style().Bold(turnText(c)))
	return b.String()
}

// dropEmpty removes the columns of a table that no row fills, such as values without a critic.
func dropEmpty(t *terminal.Table) {
	for i := len(t.Head) - 1; i >= 0; i-- {
		if !slices.ContainsFunc(t.Rows, func(row []string) bool { return row[i] != "" }) {
			t.Head = slices.Delete(t.Head, i, i+1)
			for k, row := range t.Rows {
				t.Rows[k] = slices.Delete(row, i, i+1)
			}
		}
	}
}

// spark draws the measure over the episode, between the lowest and the highest possible or seen.
func spark(c *play.Curve) string {
	values := make([]float64, len(c.Points))
	low, high := 0.0, 1.0
	for i := range c.Points {
		if values[i] = c.At(i); values[i] == values[i] {
			low, high = min(low, values[i]), max(high, values[i])
		}
	}
	return live.Spark(values, widest, low, high)
}

func pointCells(c *play.Curve, p *play.Point) []string {
	cells := []string{fmt.Sprint(p.Step), oneLine(p.Action), "", "", "–", "", "–", "", "", ""}
	if p.Step == len(c.Points)-1 {
		cells[1] = "(end)"
	}
	if p.P != nil {
		cells[2] = fmt.Sprintf("%.3f", *p.P)
	}
	if p.Value != nil {
		cells[3] = fmt.Sprintf("%.3f", *p.Value)
	}
	if p.Success != nil {
		cells[4], cells[5], cells[6] = terminal.Percent(p.Success.Mean), percents(p.Success), fmt.Sprintf("%.3f", p.Score.Mean)
	}
	if d := p.Change; d != nil {
		cells[7], cells[8] = signed(c.Measure, d.Mean), fmt.Sprintf("[%s, %s]", signed(c.Measure, d.Interval[0]), signed(c.Measure, d.Interval[1]))
	}
	switch {
	case c.Lost != nil && c.Lost.Step == p.Step:
		cells[9] = "← lost"
	case c.Won != nil && c.Won.Step == p.Step:
		cells[9] = "← won"
	}
	return cells
}

// turnText says where an episode was lost or won.
func turnText(c *play.Curve) string {
	var parts []string
	for _, x := range []struct {
		word string
		turn *play.Turn
	}{{"lost", c.Lost}, {"won", c.Won}} {
		if x.turn != nil {
			parts = append(parts, fmt.Sprintf("%s at step %d (%s): %s %s → %s", x.word, x.turn.Step, oneLine(x.turn.Action), c.Measure, level(c.Measure, x.turn.From), level(c.Measure, x.turn.To)))
		}
	}
	if parts == nil {
		return fmt.Sprintf("no step changes %s beyond chance: %s from the start, %s at the end", c.Measure, level(c.Measure, c.At(0)), level(c.Measure, c.At(len(c.Points)-1)))
	}
	return strings.Join(parts, "\n")
}

// level formats a value of the measure.
func level(measure string, x float64) string {
	switch {
	case x != x:
		return "–"
	case measure == play.Success:
		return terminal.Percent(x)
	}
	return fmt.Sprintf("%.3f", x)
}

// turnsText lists where each of several episodes was lost.
func (t *table) turnsText(all []*play.Curve) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s from each state, by %s\n", terminal.Count(all[0].Continuations, "continuation"), terminal.Clean(t.who))
	table := terminal.Table{Head: []string{"episode", "steps", "score", "lost at", "action", "before", "after", "from start to end"}}
	lost := 0
	for _, c := range all {
		end := c.Points[len(c.Points)-1]
		row := []string{c.Episode, fmt.Sprint(len(c.Points) - 1), "–", "", "", "", "", spark(c)}
		if end.Score != nil {
			row[2] = fmt.Sprintf("%.3g", end.Score.Mean)
		}
		if c.Lost != nil {
			lost++
			row[3], row[4], row[5], row[6] = fmt.Sprint(c.Lost.Step), oneLine(c.Lost.Action), level(c.Measure, c.Lost.From), level(c.Measure, c.Lost.To)
		}
		table.Add(row...)
	}
	_ = table.Write(&b)
	fmt.Fprintf(&b, "\n%d of %s lost more at one step than chance explains\n", lost, terminal.Count(len(all), "episode"))
	return b.String()
}
