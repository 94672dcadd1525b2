// Package rewardaudit audits a reward: it probes it with right, wrong and strange replies to the
// tasks of a file, and judges the scores. Ids and severities are in the package audit.
package rewardaudit

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/core/scoring"
	"github.com/merit-rl/merit/internal/audit"
	"github.com/merit-rl/merit/sandbox"
	"github.com/merit-rl/merit/sdk/merit"
)

// Subject is a reward to audit.
type Subject struct {
	// Load loads the reward with an isolation; the audit closes it.
	Load func(ctx context.Context, isolation sandbox.Isolation) (*merit.Rewards, error)
	// Rows are trajectories to make tasks of. Their replies may be right or wrong.
	Rows []*rl.Trajectory
	// Own means that the rows are Merit's and not the reward's, so that they may lack what it
	// needs.
	Own bool
	// Range is the declared range of scores; nil if none is declared.
	Range *[2]float64
	// Source is the text of the reward's script; empty of a module.
	Source string
}

// auditor is one audit.
type auditor struct {
	Subject
	maker
	pool    *reward.Pool
	tasks   []*task
	results []audit.Result
}

// Run audits a reward and returns its description and a result for each check, in the order of
// audit.Rewards. The error is that of ctx, or of the machine; a reward that does not load is a
// failed check.
func Run(ctx context.Context, s Subject) (reward.Info, []audit.Result, error) {
	began := time.Now()
	loaded, err := s.Load(ctx, sandbox.Snapshot)
	if err != nil {
		if ctx.Err() != nil {
			return reward.Info{}, nil, context.Cause(ctx)
		}
		return reward.Info{}, notLoaded(err), nil
	}
	defer loaded.Close()
	a := &auditor{Subject: s, pool: reward.NewPool(loaded.Parts, 0)}
	a.info = loaded.Parts[0].Scorer.Info()
	a.tasks = tasks(s.Rows, a.info)
	if err := a.probe(ctx); err != nil {
		return a.info, nil, err
	}
	a.judge()
	if err := errorsOf(a.again(ctx), a.shared(ctx)); err != nil {
		return a.info, nil, err
	}
	return a.info, a.complete(time.Since(began).Seconds()), nil
}

func errorsOf(list ...error) error {
	for _, err := range list {
		if err != nil {
			return err
		}
	}
	return nil
}

// notLoaded returns the results of a reward that cannot be loaded.
func notLoaded(err error) (results []audit.Result) {
	evidence := []string{err.Error()}
	if f := fault.As(err); f != nil && f.Hint != "" {
		evidence = append(evidence, "hint: "+f.Hint)
	}
	for _, c := range audit.Rewards() {
		if c.ID == "reward.loads" {
			results = append(results, audit.Failing(c.ID, nil, evidence...))
			continue
		}
		results = append(results, audit.Skipping(c.ID, "the reward does not load"))
	}
	return results
}

// complete returns the results in order, with a reason for each check that was not made.
func (a *auditor) complete(seconds float64) (all []audit.Result) {
	for _, c := range audit.Rewards() {
		i := slices.IndexFunc(a.results, func(r audit.Result) bool { return r.ID == c.ID })
		r := audit.Skipping(c.ID, "the data gives no case for it")
		if i >= 0 {
			r = a.results[i]
		}
		r.Seconds = math.Round(seconds*1e3) / 1e3
		all = append(all, r)
	}
	return all
}

// probe evaluates the right replies, chooses the oracle of each task, and evaluates the wrong
// ones.
func (a *auditor) probe(ctx context.Context) error {
	for _, t := range a.tasks {
		for _, row := range t.rows[:min(len(t.rows), most)] {
			a.record(t, row)
		}
		if !a.compares() { // else replies are scored against each other
			a.rightReplies(t)
		}
	}
	if err := a.evaluate(ctx, a.all); err != nil || a.compares() {
		return err
	}
	from := len(a.all)
	for _, t := range a.tasks {
		if t.choose(a.all); t.oracle != nil && t.single {
			a.wrongReplies(t, a.tasks)
		}
	}
	err := a.evaluate(ctx, a.all[from:])
	a.drop()
	return err
}

// drop leaves a task without an oracle if it has more to score than a reply, such as the spans of
// a trace, and every reply got the same score: the reward scores the rest.
func (a *auditor) drop() {
	for _, t := range a.tasks {
		if t.oracle == nil || !t.structured() || slices.ContainsFunc(a.all, func(p *probe) bool {
			return p.task == t && slices.Contains(wrong, p.kind) && (!p.scored() || p.score() != t.oracle.score())
		}) {
			continue
		}
		t.oracle, t.form, t.answers = nil, "", nil
		a.all = slices.DeleteFunc(a.all, func(p *probe) bool { return p.task == t && p.kind != recorded })
	}
}

// compares reports whether the reward compares trajectories.
func (a *auditor) compares() bool { return a.info.Group }

// choose sets the best reply of the task, and the form of its oracle: the one with the highest
// score, if it is nearly as good as the best reply.
func (t *task) choose(all []*probe) {
	var low float64
	mine := slices.DeleteFunc(slices.Clone(all), func(p *probe) bool { return p.task != t || !p.scored() })
	for _, p := range mine {
		if low = min(low, p.score()); t.best == nil || p.score() > t.best.score() {
			t.best = p
		}
	}
	if t.oracle = t.best; t.best == nil || len(t.answers) == 0 {
		return
	}
	texts := append([]string{formOf(t.best.text, t.answers)}, forms...)
	top := low + 0.75*(t.best.score()-low)
	for _, form := range texts {
		i := slices.IndexFunc(mine, func(p *probe) bool { return form != "" && p.text == fill(form, t.answer()) })
		if i >= 0 && mine[i].score() >= top && (t.form == "" || mine[i].score() > t.oracle.score()) {
			t.oracle, t.form = mine[i], form
		}
	}
}

// evaluate scores probes, those of a reward that compares in groups by task.
func (a *auditor) evaluate(ctx context.Context, probes []*probe) error {
	found, err := a.pool.EvaluateAll(ctx, a.rows(probes), nil)
	for i := range found {
		probes[i].found = found[i]
	}
	return err
}

func (a *auditor) rows(probes []*probe) []*rl.Trajectory {
	rows := make([]*rl.Trajectory, len(probes))
	for i, p := range probes {
		rows[i] = p.row
		if a.compares() && rows[i].Group == "" {
			rows[i].Group = "task " + p.task.row.ID
		}
	}
	return rows
}

// again scores everything again, in reverse order and in one goroutine.
func (a *auditor) again(ctx context.Context) error {
	reversed := slices.Clone(a.all)
	slices.Reverse(reversed)
	found, err := reward.NewPool(a.pool.Parts(), 1).EvaluateAll(ctx, a.rows(reversed), nil)
	if err != nil {
		return err
	}
	var problems []string
	for i, p := range reversed {
		if was, now := line(p.row, p.found), line(p.row, found[i]); was != now && len(problems) < 3 {
			problems = append(problems, fmt.Sprintf("%v; in another order: %s", p, now))
		}
	}
	a.result(audit.Judge("reward.determinism", map[string]any{"evaluations": 2 * len(a.all)}, problems))
	return nil
}

// line is a result without what may vary.
func line(row *rl.Trajectory, e reward.Evaluation) string {
	e.Fuel, e.Elapsed = 0, 0
	text, err := json.Marshal(scoring.NewResult(row, e))
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// shared scores the probes in one instance that is not reset, in two orders.
func (a *auditor) shared(ctx context.Context) error {
	loaded, err := a.Load(ctx, sandbox.Shared)
	if err != nil {
		a.result(audit.Skipping("reward.state", "the reward cannot be loaded with the isolation shared: %v", err))
		return ctx.Err()
	}
	defer loaded.Close()
	var some []*probe // hostile replies may end an instance, and so what it keeps
	for _, p := range a.all {
		if p.scored() && p.kind != hostile && p.kind != hack && len(some) < 64 {
			some = append(some, p)
		}
	}
	pool := reward.NewPool(loaded.Parts, 1)
	var problems []string
	for range 2 {
		found, err := pool.EvaluateAll(ctx, a.rows(some), nil)
		if err != nil {
			return err
		}
		for i, p := range some {
			if e := found[i]; e.Outcome == reward.Scored && e.Result.Score != p.score() && len(problems) < 3 {
				problems = append(problems, fmt.Sprintf("%v alone, and %g after other calls in the same instance", p, e.Result.Score))
			}
		}
		slices.Reverse(some)
	}
	a.result(audit.Judge("reward.state", map[string]any{"evaluations": 2 * len(some)}, problems))
	return nil
}

func (a *auditor) result(r audit.Result) { a.results = append(a.results, r) }
