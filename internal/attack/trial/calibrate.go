package trial

import (
	"context"
	"encoding/json"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/attack/reply"
	"github.com/merit-rl/merit/internal/audit/tasks"
	"github.com/merit-rl/merit/internal/base/strictjson"
)

// describe fills in what pieces of replies stand for.
func (t *Target) describe() {
	var all []string
	for _, c := range t.Cases {
		if len(c.Answers) > 0 && !slices.Contains(all, c.Answer()) {
			all = append(all, c.Answer())
		}
	}
	if len(all) == 0 {
		all = t.values()
	}
	for _, c := range t.Cases {
		w := &c.World
		w.Prompt, w.All, w.MaxText, w.Object = strings.TrimSpace(c.Prompt), all, longest, reply.ObjectOf(c.Truth)
		w.Entry = entry(c.Task, w.Object)
		if len(c.Answers) == 0 {
			w.Others = []string{"42", "zyxqv"}
			w.Wrong = []string{"42", "zyxqv"}
			continue
		}
		w.Right = c.Answer()
		for i := range 5 {
			if wrong := tasks.Another(w.Right, i); Different(w.Right, wrong) && !slices.Contains(w.Wrong, wrong) {
				w.Wrong = append(w.Wrong, wrong)
			}
		}
		for _, other := range all {
			if Different(w.Right, other) {
				w.Others = append(w.Others, other)
			}
		}
		w.Hull = tasks.Longer(w.Right)
		if cut := tasks.Beginnings(w.Right); len(cut) > 0 {
			w.Start, w.End = cut[0], cut[len(cut)-1]
		}
		distort(w)
	}
}

// values lists the short texts in the truths and the columns of all tasks, for rewards that look for several.
func (t *Target) values() (all []string) {
	const most, longestValue = 200, 60
	for _, c := range t.Cases {
		columns := append([]json.RawMessage{c.Truth}, sortedValues(c.Row.Metadata)...)
		for _, raw := range columns {
			var list []string
			if strictjson.Unmarshal(raw, &list) != nil {
				continue
			}
			for _, v := range list {
				if len(v) > 0 && len(v) <= longestValue && len(all) < most && !slices.Contains(all, v) {
					all = append(all, v)
				}
			}
		}
	}
	return all
}

func sortedValues(columns map[string]json.RawMessage) (all []json.RawMessage) {
	for _, name := range slices.Sorted(maps.Keys(columns)) {
		all = append(all, columns[name])
	}
	return all
}

// statement is how many words an answer has at least that states something.
const statement = 6

// distort fills in wrong answers that are made of the right one.
func distort(w *reply.World) {
	if words := strings.Fields(w.Right); len(words) >= statement {
		w.Denied = "It is not true that: " + w.Right
		slices.Sort(words)
		w.Mixed = strings.Join(words, " ")
	}
	if v, ok := tasks.Number(w.Right); ok {
		if v != 0 {
			for _, minus := range []string{"-", "\u2212"} {
				w.Flip = append(w.Flip, strings.TrimPrefix(minus+w.Right, minus+"-"))
			}
		}
		if tasks.Integer.MatchString(w.Right) && len(w.Right) > 1 && v > 9 {
			w.Flip = append(w.Flip, w.Right[:1]+"."+w.Right[1:])
		}
		for _, d := range []float64{1.2, 0.8, 1.45, 3} {
			if tasks.Integer.MatchString(w.Right) {
				w.Near = append(w.Near, strconv.FormatFloat(math.Round(v*d)+math.Copysign(1, v*(d-1)), 'f', -1, 64))
			} else {
				w.Near = append(w.Near, strconv.FormatFloat(v*d, 'g', 6, 64))
			}
		}
	}
}

var (
	asserted = regexp.MustCompile(`assert\s+(?:not\s+)?(?:\w+\()?([A-Za-z_]\w*)\(`)
	defined  = regexp.MustCompile(`(?:def|function)\s+([A-Za-z_]\w*)\s*\(`)
	spoken   = regexp.MustCompile("(?i)functions?\\s+(?:called\\s+|named\\s+)?`?([A-Za-z_]\\w*)(?:`|\\()")
)

// entry returns the name of the function that a task asks for, or of the tool; empty if it names none.
func entry(t *tasks.Task, o *reply.Object) string {
	if o != nil && o.Named() {
		return o.Name()
	}
	texts := []string{t.Prompt, text(t.Truth)}
	for _, name := range []string{"entry_point", "fn_name", "function_name"} {
		if v := text(t.Row.Metadata[name]); v != "" {
			return v
		}
	}
	for _, what := range []*regexp.Regexp{defined, spoken, asserted} {
		for _, s := range texts {
			if m := what.FindStringSubmatch(s); m != nil {
				return m[1]
			}
		}
	}
	return ""
}

// text is a JSON text, or any other JSON unchanged.
func text(raw json.RawMessage) string {
	var s string
	if strictjson.Unmarshal(raw, &s) == nil {
		return s
	}
	return string(raw)
}

// solutions are the columns in which data sets keep programs that are right.
var solutions = []string{"solution", "canonical_solution", "reference_solution", "code", "reference_code", "gold_code", "gold_solution"}

// rights returns replies to a task that may be right, short ones first.
func (c *Case) rights() (all []reply.Reply) {
	for _, row := range c.Rows[:min(len(c.Rows), 4)] {
		if form := tasks.FormOf(tasks.Reply(row), c.Answers); form != "" {
			all = append(all, reply.In(form, reply.Piece{Kind: reply.Right}))
		}
	}
	if c.World.Right != "" {
		for _, form := range tasks.Forms {
			all = append(all, reply.In(form, reply.Piece{Kind: reply.Right}))
		}
	}
	if c.World.Object != nil {
		for _, shape := range reply.Shapes {
			all = append(all, reply.Reply{{Kind: reply.Calls, Text: shape}})
		}
	}
	for _, name := range solutions {
		if code := text(c.Row.Metadata[name]); len(code) > 0 && len(code) < longest/2 {
			all = append(all, reply.Text("```python\n"+code+"\n```"), reply.Text("```javascript\n"+code+"\n```"), reply.Text(code))
		}
	}
	return all
}

// recorded returns the replies of the data.
func (c *Case) recorded() (all []reply.Reply) {
	for _, row := range c.Rows[:min(len(c.Rows), 8)] {
		if text := tasks.Reply(row); text != "" {
			all = append(all, reply.Text(text))
		}
	}
	return all
}

// wrongs are replies that are wrong.
func wrongs() []reply.Reply {
	all := []reply.Reply{reply.Text(""), reply.Text("Perhaps wumble the frobnicated zyxqv of a brontide.")}
	for _, form := range tasks.Forms {
		all = append(all, reply.In(form, reply.Piece{Kind: reply.Wrong}))
	}
	return all
}

// calibrate learns what right and wrong replies earn.
func (t *Target) calibrate(ctx context.Context) error {
	if t.compares() {
		return t.assemble(ctx)
	}
	var trials []*Trial
	for i, c := range t.Cases {
		for _, r := range slices.Concat(c.rights(), c.recorded(), wrongs()) {
			trials = append(trials, &Trial{Case: i, Reply: r})
		}
	}
	if err := t.Score(ctx, trials); err != nil {
		return err
	}
	for _, c := range t.Cases {
		n := len(c.rights()) + len(c.recorded()) + len(wrongs())
		c.learn(trials[:n:n], len(c.rights()), len(c.recorded()))
		trials = trials[n:]
	}
	t.doubtForms()
	return t.swap(ctx)
}

// doubtForms takes back what is known of a task whose best right reply earns much less than that of another one:
// its right form is not among the replies.
func (t *Target) doubtForms() {
	const share = 0.75
	top := math.Inf(-1)
	for _, c := range t.Cases {
		if c.Known {
			top = max(top, c.Right)
		}
	}
	for _, c := range t.Cases {
		c.Known = c.Known && (top <= 0 || c.Right >= share*top)
	}
}

// learn sets the oracle and the floor from trials: right ones first, then recorded ones, then wrong
// ones. What a right reply earns is known if it is more than any wrong one does: else the right form may not
// be among the replies.
func (c *Case) learn(trials []*Trial, rights, recorded int) {
	first, ceiling := true, math.Inf(-1)
	var best *Trial
	for i, x := range trials {
		if !x.Scored() {
			continue
		}
		if first || x.Score() < c.Floor {
			c.Floor, first = x.Score(), false
		}
		switch {
		case i >= rights+recorded:
			ceiling = max(ceiling, x.Score())
		case best == nil || x.Score() > best.Score()+1e-9:
			best = x
		}
	}
	if best != nil {
		c.Oracle, c.Right, c.Known = best.Reply, best.Score(), best.Score() > max(ceiling, c.Floor)+1e-9
	}
}

// swap finds out whether the truth matters: whether a right reply scores another number beside the
// columns of another task.
func (t *Target) swap(ctx context.Context) error {
	var trials []*Trial
	for i, c := range t.Cases {
		for j, other := range t.Cases {
			if c.Oracle != nil && i != j && c.truth != other.truth {
				trials = append(trials, &Trial{Case: i, Reply: c.Oracle, Columns: other.Row})
			}
		}
	}
	if err := t.Score(ctx, trials); err != nil {
		return err
	}
	t.Ignored = true
	for _, x := range trials {
		if c := t.Cases[x.Case]; !x.Scored() || x.Score() != c.Right {
			t.Ignored = false
		}
	}
	return nil
}

// assemble sets the others beside which replies to a task are scored: recorded replies of its group, or
// right and wrong ones.
func (t *Target) assemble(context.Context) error {
	for _, c := range t.Cases {
		for _, row := range c.Rows[:min(len(c.Rows), 4)] {
			own := *row
			c.group = append(c.group, &own)
		}
		rights := c.rights()
		if len(rights) > 0 {
			c.Oracle = rights[0]
			c.add(t, rights[0])
		}
		c.add(t, reply.Text("Perhaps wumble the frobnicated zyxqv of a brontide."))
	}
	return nil
}

func (c *Case) add(t *Target, r reply.Reply) {
	if said, ok := r.Say(&c.World); ok {
		c.group = append(c.group, c.row(t.info, said, nil))
	}
}

// Learn takes a reply that holds the right answer, and nothing else of it, as the right one of every task
// that has none yet.
func (t *Target) Learn(trials []*Trial) {
	for _, x := range trials {
		if c := t.Cases[x.Case]; !c.Known && x.Scored() && x.Score() > c.Floor+1e-9 {
			c.Oracle, c.Right, c.Known = x.Reply, x.Score(), true
		}
	}
}

// Prompted returns the messages before the reply.
func (c *Case) Prompted() []rl.Message { return c.Row.Messages[:tasks.PromptEnd(c.Row)] }
