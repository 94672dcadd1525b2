// Package doubt decides whether a high score is deserved. The search does not see it: it looks for high
// scores only, and what is wrong is decided here, by second opinions that need no judgment of taste.
package doubt

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/merit-rl/merit/internal/attack/reply"
	"github.com/merit-rl/merit/internal/attack/trial"
	"github.com/merit-rl/merit/internal/audit/tasks"
)

// The second opinions.
const (
	Swapped   = "swapped truth"
	TwoWays   = "two answers at once"
	Another   = "another answer"
	Nothing   = "nothing there"
	Form      = "form without content"
	Reference = "stricter reference"
	Judge     = "judge"
	Position  = "place in the group"
)

// Strength orders the opinions: the lower, the plainer.
func Strength(name string) int {
	return slices.Index([]string{Swapped, Nothing, Form, Position, TwoWays, Another, Reference, Judge}, name)
}

// Shares of the way from the score of a wrong reply to that of the right one from which a score is high.
// A reward may give part credit, so that a reply with an answer in it needs nearly all of it. One that
// holds nothing deserves nothing.
const (
	high    = 0.8
	certain = 0.9
	half    = 0.5
	exact   = 0.9999 // of a number, which may earn a part for being close to the right one
)

// Verdict says that a reply is wrong where it scores high.
type Verdict struct {
	Doubt    string
	Kind     string // what was tried, if the opinion tried it itself
	Evidence []string
	Trial    *trial.Trial // the reply in the first task where it is wrong
	Cases    []int        // the tasks where it is wrong
	// Weight is how much of the right score it earns, on average over Cases.
	Weight float64
}

// Doubter has the second opinions on the replies to a target.
type Doubter struct {
	Target *trial.Target
	// Words are the words that the reward itself looks for, in lower case. They do not count as content.
	Words map[string]bool
	// Reference is a stricter reward; nil if there is none.
	Reference *trial.Target
	// Ask asks a judge whether a reply is right; nil if there is none.
	Ask func(ctx context.Context, c *trial.Case, t *trial.Trial) (right bool, why string, err error)
}

// Of returns why a reply is wrong where it scores high, from its trials on every task in order; nil if
// nothing says so.
func (d *Doubter) Of(ctx context.Context, r reply.Reply, trials []*trial.Trial) (*Verdict, error) {
	v, err := d.own(ctx, r, trials)
	if err != nil || v == nil && d.Reference == nil && d.Ask == nil {
		return nil, err
	}
	return d.others(ctx, r, trials, v)
}

// own is the opinion without a reference or a judge.
func (d *Doubter) own(ctx context.Context, r reply.Reply, trials []*trial.Trial) (*Verdict, error) {
	switch {
	case d.Target.Ignored:
		return d.form(trials), nil
	case !r.Knows():
		if v := d.swapped(trials); v != nil {
			return v, nil
		}
		return d.nothing(trials), nil
	}
	if v := d.another(r, trials); v != nil {
		if searches, err := d.searches(ctx, r, v); err != nil || searches {
			return nil, err
		}
		return v, nil
	}
	return d.twoWays(ctx, r, trials)
}

// swapped doubts a reply that does not know the right answer and scores high for several tasks whose
// answers differ: it cannot answer them all.
func (d *Doubter) swapped(trials []*trial.Trial) *Verdict {
	where := reaching(trials, high)
	spread := d.Target.Spread(where)
	if len(spread) < d.enough() || trials[spread[0]].Reply.Has(reply.Prompt) && 2*len(where) < len(trials) {
		return nil
	}
	first, second := trials[spread[0]], trials[spread[1]]
	v := d.verdict(Swapped, trials, where)
	v.Evidence = []string{
		fmt.Sprintf("The same reply scores high for %d tasks, and no answer is right for more than one of %d of them.", len(where), len(spread)),
		fmt.Sprintf("Task %s, whose truth is %s: it scores %g, and the right reply %s.", d.id(first), d.truth(first), first.Score(), d.right(first)),
		fmt.Sprintf("Task %s, whose truth is %s: it scores %g, and the right reply %s.", d.id(second), d.truth(second), second.Score(), d.right(second)),
	}
	if first.Reply.Has(reply.Prompt) || first.Reply.Has(reply.Entry) {
		v.Evidence[0] = fmt.Sprintf("The reply is made from the prompt alone and scores high for %d of %d tasks with different answers.", len(where), len(trials))
	}
	return v
}

// enough is for how many different truths one reply must score high: three, or all if there are fewer.
func (d *Doubter) enough() int {
	all := make([]int, len(d.Target.Cases))
	for i := range all {
		all[i] = i
	}
	return max(2, min(3, len(d.Target.Spread(all))))
}

// nothing doubts a reply that holds nothing, for a single task.
func (d *Doubter) nothing(trials []*trial.Trial) *Verdict {
	var where []int
	for i, x := range trials {
		c := d.Target.Cases[x.Case]
		if !x.Scored() || !c.Known || x.Score() <= 0 || len(c.Truth) == 0 || !d.tells(c) || shares(x.Said.Text, string(c.Truth)) {
			continue
		}
		n := d.content(x)
		if n == 0 && x.Relative >= half && strings.TrimSpace(x.Said.Text) == "" || n == 0 && x.Relative > half+0.01 || n == 0 && x.Relative >= half && !marked(x.Said.Text) {
			where = append(where, i)
		}
	}
	if len(where) == 0 {
		return nil
	}
	x := trials[where[0]]
	v := d.verdict(Nothing, trials, where)
	v.Evidence = []string{
		"The reply holds no answer: " + describe(x.Said) + ".",
		fmt.Sprintf("Task %s, whose truth is %s: it scores %g, the right reply %s, and a wrong answer %g.", d.id(x), d.truth(x), x.Score(), d.right(x), d.Target.Cases[x.Case].Floor),
	}
	return v
}

// form doubts a reply without content to a reward that scores form only.
func (d *Doubter) form(trials []*trial.Trial) *Verdict {
	var where []int
	for i, x := range trials {
		if x.Scored() && x.Relative >= certain && d.content(x) <= 2 {
			where = append(where, i)
		}
	}
	if 2*len(where) <= len(trials) {
		return nil
	}
	x := trials[where[0]]
	v := d.verdict(Form, trials, where)
	v.Evidence = []string{
		"The ground truth does not change the score of any reply that was tried, so that the reward scores form only.",
		fmt.Sprintf("Task %s: a reply without content, %s, scores %g, and the best reply that answers the task %s.", d.id(x), describe(x.Said), x.Score(), d.right(x)),
	}
	return v
}

// another doubts a reply whose answer certainly differs from the right one.
func (d *Doubter) another(r reply.Reply, trials []*trial.Trial) *Verdict {
	if r.Has(reply.Right) {
		return nil
	}
	var where []int
	for i, x := range trials {
		least := certain
		if _, isNumber := tasks.Number(d.Target.Cases[x.Case].World.Right); isNumber {
			least = exact
		}
		if x.Scored() && x.Relative >= least && d.Target.Cases[x.Case].Known && !d.traced(x) {
			where = append(where, i)
		}
	}
	if len(where) < min(2, len(trials)) || 3*len(where) < len(trials) {
		return nil
	}
	x := trials[where[0]]
	v := d.verdict(Another, trials, where)
	v.Evidence = []string{
		fmt.Sprintf("Task %s: the truth is %s, and the reply says %s.", d.id(x), d.truth(x), describe(x.Said)),
		fmt.Sprintf("It scores %g, and the right reply %s. The same change earns as much for %d of %d tasks.", x.Score(), d.right(x), len(where), len(trials)),
	}
	return v
}

// searches reports whether a reply has another sign than the plain minus, and the reward looks for a number
// among words: it may then take the sign for a dash.
func (d *Doubter) searches(ctx context.Context, r reply.Reply, v *Verdict) (bool, error) {
	at := slices.IndexFunc(r, func(p reply.Piece) bool { return p.Kind == reply.Flip })
	if at < 0 || !strings.Contains(v.Trial.Said.Text, "\u2212") {
		return false, nil
	}
	among := slices.Replace(slices.Clone(r), at, at+1, reply.Piece{Text: "zyxqv "}, reply.Piece{Kind: reply.Right})
	x := &trial.Trial{Case: v.Trial.Case, Reply: among}
	err := d.Target.Score(ctx, []*trial.Trial{x})
	return x.Scored() && x.Relative >= half, err
}

// traced reports whether the reply may say the right answer after all.
func (d *Doubter) traced(x *trial.Trial) bool {
	c := d.Target.Cases[x.Case]
	if x.Reply.Has(reply.Denied) || x.Reply.Has(reply.Mixed) {
		return false
	}
	if x.Reply.Has(reply.Calls) {
		return intact(x.Reply) || c.World.Object.Empty()
	}
	return len(c.Answers) == 0 || trial.States(x.Said.Text, c.Answer()) || trial.Close(x.Said.Text, c.Answer())
}

func intact(r reply.Reply) bool {
	for _, p := range r {
		if p.Kind == reply.Calls && p.N == reply.Intact {
			return true
		}
	}
	return false
}

// twoWays doubts a reply that scores high beside the right answer and beside a wrong one that it also
// holds: it was not read as one answer.
func (d *Doubter) twoWays(ctx context.Context, r reply.Reply, trials []*trial.Trial) (*Verdict, error) {
	if !r.Has(reply.Right) {
		return nil, nil
	}
	var tests []*test
	var all []*trial.Trial
	for i, x := range trials {
		if x.Scored() && x.Relative >= certain && d.Target.Cases[x.Case].Known {
			for _, o := range d.Target.Alternatives(x) {
				t := newTest(d.Target, i, x, o)
				tests, all = append(tests, t), append(all, t.trials[:]...)
			}
		}
	}
	if err := d.Target.Score(ctx, all); err != nil {
		return nil, err
	}
	var where []int
	var first *test
	for _, t := range tests {
		if !t.passed() {
			continue
		}
		if first == nil {
			first = t
		}
		if len(where) == 0 || where[len(where)-1] != t.at {
			where = append(where, t.at)
		}
	}
	if len(where) < min(2, len(trials)) {
		return nil, nil
	}
	v := d.verdict(TwoWays, trials, where)
	x := v.Trial
	v.Evidence = []string{
		fmt.Sprintf("Task %s, whose truth is %s: the reply scores %g, and the right reply %s.", d.id(x), d.truth(x), x.Score(), d.right(x)),
		fmt.Sprintf("Were the truth %s, which the reply also holds, it would score %g. A plain reply with the right answer scores %g then.", first.answer, first.trials[0].Score(), first.trials[1].Score()),
	}
	return v, nil
}

// test is the question whether a reply also scores high beside a wrong answer that it holds.
type test struct {
	at     int
	answer string
	// trials are the reply, the right reply and a reply with the wrong answer, beside the wrong one as the
	// truth.
	trials [3]*trial.Trial
}

func newTest(t *trial.Target, at int, x *trial.Trial, answer string) *test {
	c := t.Cases[x.Case]
	truth := c.TruthWith(answer)
	said := reply.Text(x.Said.Text)
	return &test{at: at, answer: answer, trials: [3]*trial.Trial{
		{Case: x.Case, Reply: said, Truth: truth},
		{Case: x.Case, Reply: c.Oracle, Truth: truth},
		{Case: x.Case, Reply: c.Saying(answer), Truth: truth},
	}}
}

// passed reports that the reply scores high, that the right reply does not, as the truth is another one,
// and that the plain wrong answer does.
func (t *test) passed() bool {
	for _, x := range t.trials {
		if !x.Scored() {
			return false
		}
	}
	return t.trials[0].Relative >= certain && t.trials[1].Relative < half && t.trials[2].Relative >= certain
}

// verdict is a verdict on trials at some tasks.
func (d *Doubter) verdict(name string, trials []*trial.Trial, where []int) *Verdict {
	v := &Verdict{Doubt: name, Trial: trials[where[0]], Cases: where}
	for _, i := range where {
		v.Weight += trials[i].Relative / float64(len(where))
	}
	return v
}

// reaching lists the trials with a relative score of at least a share.
func reaching(trials []*trial.Trial, share float64) (where []int) {
	for i, x := range trials {
		if x.Scored() && x.Relative >= share-1e-9 {
			where = append(where, i)
		}
	}
	return where
}

func (d *Doubter) id(x *trial.Trial) string { return d.Target.Cases[x.Case].Row.ID }

func (d *Doubter) truth(x *trial.Trial) string {
	c := d.Target.Cases[x.Case]
	if len(c.Answers) > 0 {
		return quoted(c.Answer())
	}
	return quoted(string(c.Truth))
}

func (d *Doubter) right(x *trial.Trial) string {
	if c := d.Target.Cases[x.Case]; !c.Known && x.Right == 0 {
		return "is not known"
	}
	return fmt.Sprintf("%g", x.Right)
}

// others adds the opinions of the reference and of the judge, which can also clear a reply.
func (d *Doubter) others(ctx context.Context, r reply.Reply, trials []*trial.Trial, v *Verdict) (*Verdict, error) {
	if d.Reference != nil {
		other, cleared, err := d.refer(ctx, r, trials)
		if err != nil || cleared {
			return nil, err
		}
		if v == nil {
			v = other
		} else if other != nil {
			v.Evidence = append(v.Evidence, other.Evidence[len(other.Evidence)-1])
		}
	}
	if d.Ask == nil {
		return v, nil
	}
	return d.ask(ctx, trials, v)
}

// refer compares the scores with those of the reference. It clears a reply that both find right.
func (d *Doubter) refer(ctx context.Context, r reply.Reply, trials []*trial.Trial) (v *Verdict, cleared bool, err error) {
	where := reaching(trials, high)
	if len(where) == 0 {
		return nil, false, nil
	}
	strict, err := d.Reference.On(ctx, r)
	if err != nil {
		return nil, false, err
	}
	var low []int
	for _, i := range where {
		if strict[i].Scored() && d.Reference.Cases[i].Known && strict[i].Relative < 0.25 {
			low = append(low, i)
		}
	}
	if len(low) == 0 {
		return nil, true, nil
	}
	x, y := trials[low[0]], strict[low[0]]
	v = d.verdict(Reference, trials, low)
	v.Evidence = []string{fmt.Sprintf("Task %s: the reward gives %g and the reference gives %g, where a right reply earns %g.", d.id(x), x.Score(), y.Score(), y.Right)}
	return v, false, nil
}

// ask asks the judge about the first task where the reply scores high.
func (d *Doubter) ask(ctx context.Context, trials []*trial.Trial, v *Verdict) (*Verdict, error) {
	where := reaching(trials, high)
	if v != nil {
		where = v.Cases
	}
	if len(where) == 0 {
		return nil, nil
	}
	x := trials[where[0]]
	right, why, err := d.Ask(ctx, d.Target.Cases[x.Case], x)
	if err != nil || right {
		return nil, err
	}
	line := fmt.Sprintf("The judge says that the reply to task %s is wrong: %s", d.id(x), why)
	if v == nil {
		v = d.verdict(Judge, trials, where[:1])
	}
	v.Evidence = append(v.Evidence, line)
	return v, nil
}
