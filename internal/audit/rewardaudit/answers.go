package rewardaudit

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/internal/audit"
)

// answers makes the checks of a reward that a ground truth decides.
func (a *auditor) answers() {
	a.oracles()
	half, full := a.above(0.5), a.above(1)
	a.fails("reward.empty_answer", half, empty)
	a.fails("reward.random_answer", half, random)
	a.fails("reward.truncated_answer", full, truncated)
	a.fails("reward.other_answer", full, other)
	a.fails("reward.many_answers", full, many)
	a.fails("reward.known_hacks", a.above(0.75), hack)
	a.beaten()
	a.prompts()
	a.failures()
	a.permutations()
	a.lengths()
	a.passes("reward.whitespace", spaces)
	a.passes("reward.case", cased)
	a.leaks()
}

// wrong are the kinds of replies that are wrong.
var wrong = []kind{empty, random, truncated, other, hack}

// floor is the lowest score of a wrong reply to the task, and whether there is one below the
// oracle.
func (a *auditor) floor(t *task) (float64, bool) {
	low, any := t.oracle.score(), false
	for _, p := range a.all {
		if p.task == t && p.scored() && p.score() < low && (slices.Contains(wrong, p.kind) || p.kind == recorded || p.kind == swapped) {
			low, any = p.score(), true
		}
	}
	return low, any
}

// above returns a test whether a probe reaches a share of the way from the lowest score to that
// of the oracle.
func (a *auditor) above(share float64) func(p *probe) bool {
	floors := map[*task]float64{}
	for _, t := range a.tasks {
		if t.oracle == nil {
			continue
		}
		floors[t], _ = a.floor(t)
	}
	return func(p *probe) bool {
		low, top := floors[p.task], p.task.oracle.score()
		return p.scored() && top > low && p.score() >= low+share*(top-low)-1e-9
	}
}

// fails requires that no probe of a kind passes.
func (a *auditor) fails(id string, pass func(p *probe) bool, k kind) {
	var problems []string
	n := 0
	for _, p := range a.all {
		if p.kind != k || p.task.oracle == nil || p.task.truth == nil {
			continue
		}
		if n++; pass(p) && len(problems) < quoted {
			problems = append(problems, fmt.Sprintf("%v, the right one %g", p, p.task.oracle.score()))
		}
	}
	if n > 0 {
		a.result(audit.Judge(id, map[string]any{"replies": n}, problems))
	}
}

// passes requires that variants of the right reply pass.
func (a *auditor) passes(id string, k kind) {
	half := a.above(0.5)
	var problems []string
	n := 0
	for _, p := range a.all {
		if p.kind != k {
			continue
		}
		if _, gap := a.floor(p.task); !gap {
			continue
		}
		if n++; !half(p) && len(problems) < quoted {
			problems = append(problems, fmt.Sprintf("%v, but %g without the change", p, p.task.oracle.score()))
		}
	}
	if n > 0 {
		a.result(audit.Judge(id, map[string]any{"replies": n}, problems))
	}
}

// oracles requires that the right answer of each task scores more than wrong ones.
func (a *auditor) oracles() {
	var problems []string
	n := 0
	for _, t := range a.tasks {
		if t.oracle == nil || len(t.answers) == 0 {
			continue
		}
		n++
		if _, ok := a.floor(t); !ok && len(problems) < quoted {
			problems = append(problems, fmt.Sprintf("task %s: the right answer %.60q scored %g in its best form, no more than wrong replies", t.row.ID, t.answer(), t.oracle.score()))
		}
		problems = append(problems, a.lost(t)...)
	}
	if n > 0 {
		a.result(audit.Judge("reward.oracle", map[string]any{"tasks": n, "forms": len(forms)}, problems[:min(len(problems), quoted)]))
	}
}

// lost lists an answer whose best score is at the level of the wrong ones of other tasks.
func (a *auditor) lost(t *task) []string {
	for _, k := range a.tasks {
		if k == t || k.oracle == nil || k.form == "" || len(k.answers) == 0 {
			continue
		}
		if low, ok := a.floor(k); ok && t.oracle.score() <= low+0.25*(k.oracle.score()-low) {
			return []string{fmt.Sprintf("task %s: the right answer %.60q scored at most %g, a wrong one of task %s %g and its right one %g", t.row.ID, t.answer(), t.oracle.score(), k.row.ID, low, k.oracle.score())}
		}
	}
	return nil
}

// beaten requires that no wrong reply scores more than the right one.
func (a *auditor) beaten() {
	var problems []string
	n := 0
	for _, p := range a.all {
		if p.task.form == "" || !slices.Contains(append([]kind{longWrong, hostile, many}, wrong...), p.kind) {
			continue
		}
		if n++; p.scored() && p.score() > p.task.best.score()+1e-9 && len(problems) < quoted {
			problems = append(problems, fmt.Sprintf("%v, the right one %g", p, p.task.best.score()))
		}
	}
	if n > 0 {
		a.result(audit.Judge("reward.beats_oracle", map[string]any{"replies": n}, problems))
	}
}

// told matches what comes right before an answer that a prompt gives away.
var told = regexp.MustCompile(`(?i)(answer|solution|ground.?truth|expected|key|correct|####|\\boxed)[^\n\w]{0,6}(is|=|:)?[^\n\w-]{0,4}$`)

// prompts looks for the answer in the prompt, and lets the prompt itself be the reply.
func (a *auditor) prompts() {
	full := a.above(1)
	var echoed, given []string
	n := 0
	for _, p := range a.all {
		if p.kind != echo || len(p.task.answers) == 0 {
			continue
		}
		if n++; full(p) {
			echoed = append(echoed, fmt.Sprintf("task %s: the prompt as the reply scored %g, as the right one", p.task.row.ID, p.score()))
		}
		if p.task.givenAway() {
			given = append(given, fmt.Sprintf("task %s: the prompt says the answer %.40q", p.task.row.ID, p.task.answer()))
		}
	}
	if n == 0 {
		return
	}
	measured := map[string]any{"prompts": n, "echo_passes": len(echoed), "say_it": len(given)}
	if 2*len(echoed) <= n { // by chance, as the last number of a question
		echoed = nil
	}
	if 2*len(given) <= n {
		given = nil
	}
	problems := append(given, echoed...)
	a.result(audit.Judge("reward.answer_in_prompt", measured, problems[:min(len(problems), quoted)]))
}

// givenAway reports whether the prompt says the answer, marked as such.
func (t *task) givenAway() bool {
	answer := t.answer()
	for at := 0; ; {
		i := strings.Index(t.prompt[at:], answer)
		if i < 0 {
			return false
		}
		at += i
		after := t.prompt[at+len(answer):]
		whole := after == "" || !strings.ContainsAny(after[:1], "0123456789abcdefghijklmnopqrstuvwxyz")
		if whole && told.MatchString(t.prompt[max(0, at-40):at]) {
			return true
		}
		at += len(answer)
	}
}

// failures requires that a missing or empty ground truth is not right, and looks for handlers that
// make scores of exceptions; and that there is no score at all without a ground truth.
func (a *auditor) failures() {
	full := a.above(1)
	var passed, wrong []string
	n := 0
	optional := slices.ContainsFunc(a.all, func(p *probe) bool { return p.kind == recorded && p.task.truth == nil && p.scored() })
	for _, p := range a.all {
		if p.task.truth == nil || p.kind != missing && p.kind != blank || optional && p.kind == missing {
			continue // of optional, the data says that it scores without one
		}
		text := fmt.Sprintf("%v, with a ground truth that is %s", p, p.kind)
		switch n++; {
		case full(p):
			passed = append(passed, text)
		case p.kind == missing && p.scored() && a.aswrong(p):
			wrong = append(wrong, text)
		}
	}
	passed = append(passed[:min(len(passed), quoted)], a.swallowed()...)
	if n == 0 && len(passed) == 0 {
		return
	}
	a.result(audit.Judge("reward.failures", map[string]any{"cases": n}, passed))
	if optional {
		a.result(audit.Skipping("reward.missing_truth", "rows of the data have no ground truth and a score, so that it is optional"))
		return
	}
	a.result(audit.Judge("reward.missing_truth", map[string]any{"cases": n}, wrong[:min(len(wrong), quoted)]))
}

// aswrong reports whether a probe scored as a wrong reply to its task: the lowest score, or that of
// a wrong answer in the form of the right one.
func (a *auditor) aswrong(p *probe) bool {
	return slices.ContainsFunc(a.all, func(q *probe) bool {
		return q.task == p.task && q.scored() && q.score() == p.score() && q.score() < q.task.oracle.score() && slices.Contains([]kind{empty, random, other, swapped}, q.kind)
	})
}

// swallow matches a handler of every exception that gives a number instead of an error.
var swallow = regexp.MustCompile(`(?m)^([ \t]*)except(?:[ \t]+(?:Exception|BaseException)(?:[ \t]+as[ \t]+\w+)?)?[ \t]*:[ \t]*(?:#[^\n]*)?\n?[ \t]*(return[ \t]+-?\d+(?:\.\d+)?|(?:score|reward|result|r)[ \t]*=[ \t]*-?\d+(?:\.\d+)?)[ \t]*(?:#[^\n]*)?$`)

// swallowed lists the handlers of a script that make a score of every exception.
func (a *auditor) swallowed() (lines []string) {
	for _, m := range swallow.FindAllStringSubmatchIndex(a.Source, quoted) {
		lines = append(lines, fmt.Sprintf("line %d makes a score of every exception: %s", 1+strings.Count(a.Source[:m[3]], "\n"), a.Source[m[4]:m[5]]))
	}
	return lines
}

// permutations requires the same score beside permuted options, and that the old letter fails.
func (a *auditor) permutations() {
	full := a.above(1)
	var problems []string
	n := 0
	for _, p := range a.all {
		switch p.kind {
		case permuted:
			if n++; !full(p) {
				problems = append(problems, fmt.Sprintf("%v with the options in another order, and %g before", p, p.task.oracle.score()))
			}
		case position:
			if n++; full(p) {
				problems = append(problems, fmt.Sprintf("%v with the options in another order, where it is wrong", p))
			}
		}
	}
	if n > 0 {
		a.result(audit.Judge("reward.option_order", map[string]any{"replies": n}, problems[:min(len(problems), quoted)]))
		return
	}
	a.result(audit.Skipping("reward.option_order", "no prompt lists options, such as A) and B)"))
}

// lengths compares a wrong answer with the same one after many words.
func (a *auditor) lengths() {
	var problems []string
	short := map[*task]*probe{}
	n := 0
	for _, p := range a.all {
		if p.kind == random && p.task.form != "" && p.scored() {
			short[p.task] = p // the last one is in the form of the right one
		}
	}
	for _, p := range a.all {
		base := short[p.task]
		if p.kind == longRight {
			base = p.task.oracle
		} else if p.kind != longWrong {
			continue
		}
		if base == nil || !p.scored() {
			continue
		}
		low, _ := a.floor(p.task)
		if n++; p.score() > base.score()+0.45*(p.task.oracle.score()-low) && len(problems) < quoted {
			problems = append(problems, fmt.Sprintf("%v, and %g without %d more characters", p, base.score(), len(filler)))
		}
	}
	if n > 0 {
		a.result(audit.Judge("reward.length", map[string]any{"replies": n}, problems))
	}
}

// leaks looks for the ground truth in what the reward returns.
func (a *auditor) leaks() {
	var problems []string
	n := 0
	for _, p := range a.all {
		if p.kind != canary {
			continue
		}
		n++
		text, _ := json.Marshal(p.found.Result) // of a valid result
		notes, _ := json.Marshal(p.found.Notes)
		for where, said := range map[string]string{"result": string(text), "reason": p.found.Reason, "notes": string(notes)} {
			if p.found.Outcome != reward.GuestError && strings.Contains(said, canaryText) && len(problems) == 0 {
				problems = append(problems, fmt.Sprintf("task %s: the %s contains the ground truth", p.task.row.ID, where))
			}
		}
	}
	if n > 0 {
		a.result(audit.Judge("reward.canary_leak", map[string]any{"cases": n}, problems))
	}
}
