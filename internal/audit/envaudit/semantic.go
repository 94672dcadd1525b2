package envaudit

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/merit-rl/merit/core/env"
	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/audit"
	"github.com/merit-rl/merit/internal/audit/rewardaudit"
	"github.com/merit-rl/merit/internal/base/strictjson"
)

// The bounds of what an audit plays.
const (
	seeds   = 8
	longest = 200 // steps of an episode
	budget  = 6 * time.Second
)

func parseSolutions(path, text string) (list []Solution, err error) {
	for i, line := range strings.Split(strings.TrimSpace(text), "\n") {
		var s Solution
		if err := strictjson.Unmarshal([]byte(line), &s); err != nil || len(s.Actions) == 0 {
			return nil, &fault.Error{
				Boundary: fault.Data, Kind: fault.Invalid, Where: fmt.Sprintf("%s:%d", path, i+1), What: "is not a solution", Err: err,
				Hint: `write one JSON object per line: {"seed": 1, "actions": ["right"]}`,
			}
		}
		list = append(list, s)
	}
	return list, nil
}

// playAll plays episodes with each policy. Slow environments are played less.
func (a *auditor) playAll(ctx context.Context, e env.Env) error {
	texts := slices.Concat(a.Texts, []string{"I do not know.", "1", "yes", "Answer: 42"})
	for _, name := range tools(a.spec) {
		texts = append(texts, call(name))
	}
	began := time.Now()
	for seed := range uint64(seeds) {
		for _, p := range []struct {
			name   string
			choose policy
		}{{"still", still}, {"random", random(seed, texts)}, {"random again", random(seed+100, texts)}} {
			if seed > 1 && time.Since(began) > budget {
				return nil
			}
			if err := a.play(ctx, e, p.name, seed, p.choose); err != nil {
				return err
			}
		}
	}
	for _, s := range a.Oracle {
		if err := a.play(ctx, e, "oracle", s.Seed, fixed(s.Actions)); err != nil {
			return err
		}
		if err := a.play(ctx, e, "still", s.Seed, still); err != nil {
			return err
		}
	}
	if len(a.spec.Actions) > 0 {
		return nil
	}
	for i, text := range rewardaudit.Hacks() {
		if err := a.play(ctx, e, "hack", uint64(i%seeds), fixed([]string{text})); err != nil || time.Since(began) > 2*budget {
			return err
		}
	}
	return nil
}

func (a *auditor) play(ctx context.Context, e env.Env, name string, seed uint64, choose policy) error {
	most := longest
	if name == "oracle" {
		most = 100 * longest
	}
	played, err := play(ctx, e, seed, most, choose)
	if err == nil {
		a.episodes[name] = append(a.episodes[name], played)
	}
	return err
}

// all returns every episode of some policies.
func (a *auditor) all(names ...string) (list []*episode) {
	for _, name := range names {
		list = append(list, a.episodes[name]...)
	}
	return list
}

// repeated plays recorded actions again in new environments and compares everything.
func (a *auditor) repeated(ctx context.Context) error {
	problems, err := a.replay(ctx, a.Open)
	if err != nil {
		return err
	}
	n := map[string]any{"episodes": len(a.recorded())}
	a.add(audit.Judge("semantic.replayability", n, problems.all))
	a.add(audit.Judge("semantic.verifier_determinism", n, problems.rewards))
	a.add(audit.Passing("runtime.trajectory_record", n, "every step gave an observation, a reward and flags"))
	if a.Portable == nil {
		a.add(audit.Skipping("semantic.verifier_portability", "there is no other engine for it: it is not a WebAssembly module"))
		return nil
	}
	if problems, err = a.replay(ctx, a.Portable); err != nil {
		a.add(audit.Failing("semantic.verifier_portability", nil, lines(err)...))
		return ctx.Err()
	}
	a.add(audit.Judge("semantic.verifier_portability", n, problems.all, "the interpreter of WebAssembly gives the same episodes as the compiler"))
	return nil
}

// recorded are the episodes that are played again.
func (a *auditor) recorded() []*episode {
	list := a.all("random", "oracle")
	return list[:min(len(list), 6)]
}

type differences struct{ all, rewards []string }

func (a *auditor) replay(ctx context.Context, open func(context.Context) (env.Env, error)) (d differences, err error) {
	e, err := open(ctx)
	if err != nil {
		return d, err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	for _, was := range a.recorded() {
		now, err := play(ctx, e, was.Seed, len(was.Moments)-1, fixed(was.Actions))
		if err != nil {
			return d, err
		}
		at, rewards := differ(was, now)
		if at >= 0 {
			d.all = append(d.all, fmt.Sprintf("seed %d: step %d differs when its actions are played again", was.Seed, at))
		}
		if rewards {
			d.rewards = append(d.rewards, fmt.Sprintf("seed %d: the return is %g, then %g for the same actions", was.Seed, was.total(), now.total()))
		}
	}
	return d, nil
}

// differ returns the first step at which two episodes differ, or -1, and whether their returns do.
func differ(a, b *episode) (at int, rewards bool) {
	at = -1
	for i := range max(len(a.Moments), len(b.Moments)) {
		if i >= len(a.Moments) || i >= len(b.Moments) || !reflect.DeepEqual(a.Moments[i], b.Moments[i]) {
			at = i
			break
		}
	}
	return at, a.total() != b.total()
}

// rewards compares what doing nothing earns with other play.
func (a *auditor) rewards() {
	low, high := math.Inf(1), math.Inf(-1)
	for _, e := range a.all("random", "random again", "oracle", "still") {
		low, high = min(low, e.total()), max(high, e.total())
	}
	floor := 0.0
	for _, e := range a.episodes["still"] {
		floor += e.total() / float64(len(a.episodes["still"]))
	}
	measured := map[string]any{"floor": floor, "lowest": low, "best": high, "episodes": len(a.all("random", "random again", "oracle", "still"))}
	if a.Range != nil {
		high = max(high, a.Range[1])
	}
	switch {
	case a.freebies():
		a.add(audit.Failing("semantic.floor_gap", measured, fmt.Sprintf("every play of every seed earned %g, whatever it did", high)))
	case high > floor:
		margin := 0.0
		if a.Manifest != nil && a.Manifest.Reward.Margin != nil && a.Folder != "" {
			margin = *a.Manifest.Reward.Margin
		}
		var problems []string
		if high-floor < margin {
			problems = []string{fmt.Sprintf("doing nothing earned %g; the gap to %g is less than the declared margin %g", floor, high, margin)}
		}
		a.add(audit.Judge("semantic.floor_gap", measured, problems))
	case a.Oracle == nil && (low == high && high <= 0 || floor <= 0):
		r := audit.Skipping("semantic.floor_gap", "no play of the audit earned more than doing nothing; name actions that solve it with --oracle")
		r.Measured = measured
		a.add(r)
	default:
		a.add(audit.Failing("semantic.floor_gap", measured, fmt.Sprintf("doing nothing earned %g, and no other play more than %g", floor, high)))
	}
	a.canaries(floor, high)
}

// freebies reports whether every play earned the same positive return.
func (a *auditor) freebies() bool {
	list := a.all("random", "random again", "still", "oracle")
	for _, e := range list {
		if e.total() != list[0].total() || e.total() <= 0 {
			return false
		}
	}
	return len(list) > 3 && len(a.spec.Actions) != 1
}

// canaries checks that hacks earn no more than doing nothing.
func (a *auditor) canaries(floor, high float64) {
	if a.episodes["hack"] == nil {
		a.add(audit.Skipping("semantic.canary_floor", "actions are chosen from a list, so that there is no nonsense to say"))
		return
	}
	var problems []string
	for i, e := range a.episodes["hack"] {
		if v := e.total(); v > floor+1e-9 && v > 0 && v >= floor+0.5*(high-floor) && len(problems) < 3 {
			problems = append(problems, fmt.Sprintf("seed %d: %.60q earned %g, and doing nothing %g", e.Seed, rewardaudit.Hacks()[i], v, floor))
		}
	}
	a.add(audit.Judge("semantic.canary_floor", map[string]any{"hacks": len(a.episodes["hack"]), "floor": floor}, problems))
}

// solutions checks that the oracle earns the maximum and that nothing shows the solution.
func (a *auditor) solutions() {
	if a.Oracle == nil {
		a.add(audit.Skipping("semantic.oracle_max", "there is no solution; name actions that solve it with --oracle"))
	} else {
		a.oracle()
	}
	var problems, contained []string
	shown, tasks := 0, 0
	for _, e := range a.all("still", "oracle") {
		if found := marked.FindString(e.Moments[0].Text); found != "" && len(problems) < 3 {
			problems = append(problems, fmt.Sprintf("seed %d: the first observation has a field of the solution: %.60q", e.Seed, found))
		}
		if t := e.task(); t != nil && t.GroundTruth != nil {
			tasks++
			if rewardaudit.GivenAway(e.seen(a.spec.System, 1), t.GroundTruth) {
				shown++
			}
		}
	}
	for _, e := range a.episodes["oracle"] {
		if plan := strings.Join(e.Actions, ", "); len(e.Actions) > 2 && strings.Contains(strings.Join(strings.Fields(strings.ReplaceAll(e.seen(a.spec.System, 1), ",", " ")), ", "), plan) {
			problems = append(problems, fmt.Sprintf("seed %d: the first observation lists the actions of the solution", e.Seed))
		}
	}
	if 2*shown > tasks {
		problems = append(problems, fmt.Sprintf("the prompts of %d of %d tasks say the ground truth", shown, tasks))
	}
	a.add(audit.Judge("semantic.no_solution_leakage", map[string]any{"episodes": len(a.all("still", "oracle")), "with_ground_truth": tasks}, problems))
	for _, e := range a.all("random", "random again") {
		for i, m := range e.Moments[1:] {
			for _, v := range m.Events {
				t := e.task()
				leaks := marked.MatchString(v.Message) || t != nil && t.GroundTruth != nil && len(t.GroundTruth) > 8 && strings.Contains(v.Message, strings.Trim(string(t.GroundTruth), `"`))
				if v.Kind == env.EventToolResult && leaks && len(contained) < 3 {
					contained = append(contained, fmt.Sprintf("seed %d, step %d: the tool %s answered with the solution: %.60q", e.Seed, i+1, v.Name, v.Message))
				}
			}
		}
	}
	for _, name := range tools(a.spec) {
		if private.MatchString(name) {
			contained = append(contained, fmt.Sprintf("the tool %s offers the solution", name))
		}
	}
	a.add(audit.Judge("runtime.oracle_containment", map[string]any{"tools": len(tools(a.spec))}, contained))
}

var (
	// marked matches a field of JSON, or a line, that holds a solution.
	marked  = regexp.MustCompile(`(?i)"?\b(ground_?truth|answer_key|correct_answer|solution|oracle|expected_answer|secret|target_word)"?\s*[:=]\s*["\w\[{-]+`)
	private = regexp.MustCompile(`(?i)(solution|ground_?truth|answer_key|oracle|reveal|cheat|set_reward|get_answer)`)
)

// oracle checks the returns of the solutions.
func (a *auditor) oracle() {
	best := map[uint64]float64{}
	for _, e := range a.all("still", "random", "random again") {
		if v, ok := best[e.Seed]; !ok || e.total() > v {
			best[e.Seed] = e.total()
		}
	}
	var problems []string
	low := math.Inf(1)
	for _, e := range a.episodes["oracle"] {
		v := e.total()
		low = min(low, v)
		switch other, ok := best[e.Seed]; {
		case ok && v <= other:
			problems = append(problems, fmt.Sprintf("seed %d: the solution earned %g, and other play %g", e.Seed, v, other))
		case a.Range != nil && v < a.Range[1]-a.tolerance():
			problems = append(problems, fmt.Sprintf("seed %d: the solution earned %g, not the maximum %g", e.Seed, v, a.Range[1]))
		}
	}
	a.add(audit.Judge("semantic.oracle_max", map[string]any{"solutions": len(a.Oracle), "lowest": low}, problems[:min(len(problems), 3)]))
}

func (a *auditor) tolerance() float64 {
	if a.Manifest == nil {
		return 0
	}
	return a.Manifest.Reward.Tolerance
}
