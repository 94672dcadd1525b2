package attack

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/cespare/xxhash/v2"

	"github.com/merit-rl/merit/internal/attack/doubt"
	"github.com/merit-rl/merit/internal/attack/finding"
	"github.com/merit-rl/merit/internal/attack/minimise"
	"github.com/merit-rl/merit/internal/attack/reply"
	"github.com/merit-rl/merit/internal/attack/trial"
)

// found takes a reply that is wrong where it scores high: it is minimized and joins the findings, or is
// counted with those of the same cause.
func (a *search) found(ctx context.Context, s individual, v *doubt.Verdict) error {
	if at := a.sameTry(s.Kind); at >= 0 {
		a.findings[at].Others++
		return nil
	}
	short, err := minimise.Reply(ctx, s.Reply, a.holds(v.Doubt))
	if err != nil {
		return err
	}
	trials, err := a.target.On(ctx, short)
	if err != nil {
		return err
	}
	w, err := a.doubts.Of(ctx, short, trials)
	if err != nil {
		return err
	}
	if w == nil { // by its own opinion only together with more
		w = v
	}
	a.report(short, s.Kind, w)
	return nil
}

// sameTry returns the finding of a kind of reply of which enough were minimized; -1 if there is none.
func (a *search) sameTry(kind string) int {
	for i, f := range a.findings {
		if a.minimized[kind] >= perKind && slices.Contains(a.kinds[f.Cause], kind) {
			return i
		}
	}
	return -1
}

// report adds a finding, or counts it if its cause was found before. The shorter reply is the better
// example.
func (a *search) report(r reply.Reply, tried string, v *doubt.Verdict) {
	f := a.finding(r, tried, v)
	at := slices.IndexFunc(a.findings, func(g finding.Finding) bool {
		return g.Cause == f.Cause || g.Doubt == f.Doubt && len(v.Trial.Said.Calls) == 0 && shape(g.Reply) == shape(f.Reply)
	})
	if at >= 0 {
		f.Cause = a.findings[at].Cause
	}
	a.minimized[tried]++
	if !slices.Contains(a.kinds[f.Cause], tried) {
		a.kinds[f.Cause] = append(a.kinds[f.Cause], tried)
	}
	f.ID = fmt.Sprintf("%012x", xxhash.Sum64String(a.target.Info().Digest+"\x00"+f.Cause+"\x00"+f.Reply+"\x00"+fmt.Sprint(v.Trial.Said.Calls))>>16)
	row := *v.Trial.Row
	row.ID, row.Group = "attack-"+f.ID, ""
	f.Row = &row
	switch {
	case at < 0:
		a.findings = append(a.findings, f)
	case better(f, a.findings[at]):
		f.Others = a.findings[at].Others + 1
		a.findings[at] = f
	default:
		a.findings[at].Others++
	}
}

// finding describes a minimized reply. Its cause is the line that only replies with a score reach, or else what
// it is.
func (a *search) finding(r reply.Reply, tried string, v *doubt.Verdict) finding.Finding {
	x := v.Trial
	kind := kindOf(a.target, tried, r, v)
	cause := kind
	if v.Doubt == doubt.Form || v.Doubt == doubt.Nothing { // then any such reply is accepted
		cause = v.Doubt
	}
	file, line, what := a.place(x.Found.Cover)
	if file != "" {
		cause = fmt.Sprintf("%s:%d %s, %s", file, line, what, v.Doubt)
	}
	return finding.Finding{
		Task: a.target.Cases[x.Case].Row.ID, Reply: x.Said.Text, Score: x.Score(), Right: x.Right, Wrong: a.target.Cases[x.Case].Floor, Doubt: v.Doubt, Evidence: v.Evidence, Kind: kind, Cause: cause,
		File: file, Line: line, Source: a.sourceLine(line),
	}
}

var spaces = regexp.MustCompile(`\s+`)

// shape is a reply without its numbers, its case and its white space.
func shape(text string) string {
	return spaces.ReplaceAllString(digits.ReplaceAllString(strings.ToLower(strings.TrimSpace(text)), "#"), "")
}

// better reports whether a finding is a better example of a cause than another: by a plainer opinion, or
// shorter.
func better(f, g finding.Finding) bool {
	x, y := doubt.Strength(f.Doubt), doubt.Strength(g.Doubt)
	return x < y || x == y && len(f.Reply) < len(g.Reply)
}

// holds reports for replies whether the same second opinion still doubts them.
func (a *search) holds(same string) minimise.Holds {
	return func(ctx context.Context, replies []reply.Reply) ([]bool, error) {
		n := len(a.target.Cases)
		var trials []*trial.Trial
		for _, r := range replies {
			for i := range n {
				trials = append(trials, &trial.Trial{Case: i, Reply: r})
			}
		}
		if err := a.target.Score(ctx, trials); err != nil {
			return nil, err
		}
		ok := make([]bool, len(replies))
		for i, r := range replies {
			v, err := a.doubts.Of(ctx, r, trials[i*n:(i+1)*n])
			if err != nil {
				return nil, err
			}
			if ok[i] = v != nil && v.Doubt == same; ok[i] {
				break // the first one is taken
			}
		}
		return ok, nil
	}
}

var (
	tags            = regexp.MustCompile("</?[A-Za-z][\\w-]*>|\\\\boxed|```|####")
	lettersOrDigits = regexp.MustCompile(`[\p{L}\p{N}]+`)
)

// kindOf names what a minimized reply is, in plain words: what is left of it decides, and else what was
// tried.
func kindOf(t *trial.Target, tried string, r reply.Reply, v *doubt.Verdict) string {
	x := v.Trial
	text := x.Said.Text
	bare := tags.ReplaceAllString(text, " ")
	switch {
	case len(x.Said.Calls) > 0 || r.Has(reply.Calls):
		return tried
	case text == "":
		return "an empty reply"
	case strings.TrimSpace(text) == "":
		return "white space only"
	case strings.TrimSpace(bare) == "" || len(lettersOrDigits.FindAllString(bare, 1)) == 0:
		if tags.MatchString(text) {
			return "the format and nothing in it"
		}
		return "marks without a word"
	case r.Has(reply.Prompt):
		return "the prompt repeated"
	case r.Has(reply.All) || len(t.Alternatives(x)) > 0 || v.Doubt == doubt.Swapped && holding(t, text) > 1:
		return "several answers at once"
	case slices.Contains([]string{"the format and nothing in it", "nothing", "the format repeated"}, tried):
		return "next to nothing"
	}
	return tried
}

// holding counts the tasks whose answer is a part of a text.
func holding(t *trial.Target, text string) (n int) {
	for _, c := range t.Cases {
		if len(c.Answers) > 0 && strings.Contains(text, c.Answer()) {
			n++
		}
	}
	return n
}
