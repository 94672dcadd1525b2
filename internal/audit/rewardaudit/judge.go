package rewardaudit

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/internal/audit"
)

// quoted is how many cases the evidence of a check shows.
const quoted = 3

// judge makes the checks that need no further evaluation.
func (a *auditor) judge() {
	scored := slices.DeleteFunc(slices.Clone(a.all), func(p *probe) bool { return !p.scored() })
	if len(scored) == 0 {
		a.nothing()
		return
	}
	a.result(audit.Passing("reward.loads", map[string]any{"tasks": len(a.tasks), "probes": len(a.all), "scored": len(scored)}))
	a.outside()
	if a.Source != "" {
		a.result(audit.Judge("reward.source", nil, Unsteady(a.Source)))
	} else {
		a.result(audit.Skipping("reward.source", "it is a compiled module"))
	}
	a.within(scored)
	decided, checkable := a.decided()
	if a.Own && !decided { // they may lack what the reward reads
		for _, id := range []string{"reward.constant", "reward.any_reply", "reward.ground_truth"} {
			a.result(audit.Skipping(id, "%s", needsRows))
		}
		a.without(needsRows, "")
		return
	}
	a.variety(scored)
	if a.compares() {
		a.without("it compares the replies of a group", "reward.any_reply")
		return
	}
	a.strange()
	switch {
	case !checkable:
		a.without("the rows have no ground truth that the reward takes, or it scores their other columns and not the reply; name rows that have one with --data", "reward.ground_truth")
	case !decided && !a.gap():
		a.blind()
	case !decided:
		a.result(audit.Failing("reward.ground_truth", nil, a.sameBesides()...))
		a.without("the ground truth does not change the score", "")
	default:
		a.result(audit.Passing("reward.ground_truth", nil, "the same reply has another score beside another ground truth"))
		a.answers()
	}
}

// needsRows is why nothing can be said about answers.
const needsRows = "Merit's own conversations may lack what the reward reads; write fixtures, or name rows with --data"

// truthChecks are the checks that need a ground truth that decides.
var truthChecks = []string{
	"reward.failures", "reward.missing_truth", "reward.oracle", "reward.empty_answer", "reward.random_answer", "reward.truncated_answer", "reward.other_answer", "reward.many_answers", "reward.known_hacks",
	"reward.beats_oracle", "reward.answer_in_prompt", "reward.option_order", "reward.length", "reward.whitespace", "reward.case", "reward.canary_leak",
}

// without skips the checks that need a ground truth, and one more.
func (a *auditor) without(why, also string) {
	for _, id := range append([]string{also}, truthChecks...) {
		if id != "" {
			a.result(audit.Skipping(id, "%s", why))
		}
	}
}

// nothing is the result if no probe has a score.
func (a *auditor) nothing() {
	first := "there are no rows"
	if len(a.all) > 0 {
		first = a.all[0].String()
	}
	if a.Own {
		a.result(audit.Skipping("reward.loads", "it scores none of Merit's own conversations; name rows that it scores with --data; the first: %s", first))
		return
	}
	a.result(audit.Failing("reward.loads", nil, "no reply has a score; the first: "+first))
}

// outside reports what the reward asked of the sandbox while it was loaded, and while it scored.
func (a *auditor) outside() {
	var problems []string
	for _, r := range a.info.Refused {
		if r.Kind == "network" || r.Kind == "process" || r.Kind == "environment" {
			problems = append(problems, r.String())
		}
	}
	for _, p := range a.all {
		if strings.Contains(p.found.Reason, "the sandbox") && len(problems) < quoted && p.found.Outcome != reward.Scored && p.kind != hostile && p.kind != hack {
			problems = append(problems, p.String())
		}
	}
	a.result(audit.Judge("reward.refused", nil, problems))
}

// within checks the declared range.
func (a *auditor) within(scored []*probe) {
	low, high := math.Inf(1), math.Inf(-1)
	var problems []string
	for _, p := range scored {
		low, high = min(low, p.score()), max(high, p.score())
		if a.Range != nil && (p.score() < a.Range[0] || p.score() > a.Range[1]) && len(problems) < quoted {
			problems = append(problems, p.String())
		}
	}
	measured := map[string]any{"lowest": low, "highest": high}
	if a.Range == nil {
		r := audit.Skipping("reward.range", "no range is declared; the scores were from %g to %g", low, high)
		r.Measured = measured
		a.result(r)
		return
	}
	a.result(audit.Judge("reward.range", measured, problems))
}

// variety checks that scores differ.
func (a *auditor) variety(scored []*probe) {
	for _, p := range scored {
		if p.score() != scored[0].score() {
			a.result(audit.Passing("reward.constant", nil))
			return
		}
	}
	if len(scored) < 2 {
		a.result(audit.Skipping("reward.constant", "all %d scores are %g; name rows with different replies with --data", len(scored), scored[0].score()))
		return
	}
	a.result(audit.Failing("reward.constant", map[string]any{"replies": len(scored)}, fmt.Sprintf("all %d replies scored %g", len(scored), scored[0].score())))
}

// strange checks that every reply has a score or is marked as invalid.
func (a *auditor) strange() {
	var problems []string
	n := 0
	for _, p := range a.all {
		if slices.Contains([]kind{swapped, missing, blank, canary, recorded}, p.kind) {
			continue
		}
		if n++; p.scored() || p.found.Outcome == reward.Invalid {
			continue
		}
		if len(problems) < quoted {
			problems = append(problems, p.String())
		}
	}
	if n == 0 {
		a.result(audit.Skipping("reward.any_reply", "no row has a reply with a score, so that nothing was probed"))
		return
	}
	a.result(audit.Judge("reward.any_reply", map[string]any{"replies": n}, problems))
}

// decided reports whether the score depends on the ground truth, and whether that can be seen: a
// task has a ground truth and a reply with a score.
func (a *auditor) decided() (decided, checkable bool) {
	for _, p := range a.all {
		if p.kind != swapped {
			continue
		}
		checkable = true
		if p.found.Outcome != reward.Scored || p.score() != p.task.oracle.score() {
			return true, true
		}
	}
	return false, checkable && a.info.GroundTruth != reward.UseIgnored
}

// gap reports whether replies to one task have different scores.
func (a *auditor) gap() bool {
	return slices.ContainsFunc(a.tasks, func(t *task) bool {
		return t.oracle != nil && slices.ContainsFunc(a.all, func(p *probe) bool {
			return p.task == t && p.scored() && p.score() != t.oracle.score()
		})
	})
}

// blind is the result if no reply to any task has a better score than another one.
func (a *auditor) blind() {
	if i := slices.IndexFunc(a.tasks, func(t *task) bool { return len(t.answers) > 0 && t.oracle != nil }); i >= 0 {
		t := a.tasks[i]
		a.result(audit.Failing("reward.oracle", nil, fmt.Sprintf("task %s: the right answer %.60q in %d forms, and wrong replies, all scored %g", t.row.ID, t.answer(), len(forms), t.oracle.score())))
	} else {
		a.result(audit.Skipping("reward.oracle", "no recorded reply is right; name rows with right replies with --data"))
	}
	a.without("no reply scores more than another one", "reward.ground_truth")
}

// sameBesides is the evidence that the ground truth does not matter.
func (a *auditor) sameBesides() (lines []string) {
	for _, p := range a.all {
		if p.kind == swapped && len(lines) < quoted {
			lines = append(lines, fmt.Sprintf("%v, beside the right and beside another ground truth", p))
		}
	}
	return lines
}

// unsteady are expressions whose value is another one in each process: constant in the sandbox
// and so not seen by scoring twice.
var unsteady = regexp.MustCompile(`(?:^|[^.\w])(time\.time|time\.time_ns|time\.monotonic|time\.perf_counter|datetime\.(datetime\.)?(now|utcnow|today)|date\.today|random\.(random|randint|randrange|choice|choices|uniform|gauss|shuffle|sample)|uuid\.uuid[14]|secrets\.\w+|os\.urandom|os\.getenv|os\.environ|(np|numpy)\.random\.\w+|Math\.random|Date\.now|hash)\s*[\(\[.]`)

// Unsteady lists the lines of a script that use a clock, the global generator of random numbers,
// the environment or the salted hash of texts: fixed in the sandbox, but not elsewhere.
func Unsteady(source string) (lines []string) {
	for i, line := range strings.Split(source, "\n") {
		code := strings.TrimSpace(line)
		if strings.HasPrefix(code, "#") || strings.HasPrefix(code, "//") || strings.HasPrefix(code, "*") {
			continue
		}
		if m := unsteady.FindStringSubmatch(code); m != nil && len(lines) < quoted && !strings.Contains(source, "random.seed(") {
			lines = append(lines, fmt.Sprintf("line %d uses %s: fixed in the sandbox, but not elsewhere", i+1, m[1]))
		}
	}
	return lines
}
