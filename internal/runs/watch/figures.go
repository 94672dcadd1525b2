package watch

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/run"
)

// figure is a number of an iteration, with the names that trainers have for it, and the flags that
// need it in every iteration.
type figure struct {
	about string
	names []string // the first that there is counts
	flags []string
	set   func(it *run.Iteration, x float64)
}

// scoreNames are the names of the mean score. No row without one is an iteration.
var scoreNames = []string{
	"reward", "critic/score/mean", "critic/rewards/mean", "reward/avg_raw_reward", "reward/mean", "rewards/mean",
	"objective/scores", "env/all/reward/total", "outputs/score", "mean_reward",
}

// figures lists what is read besides the score. TRL and OpenRLHF call the divergence from a
// reference kl; the flag kl is about one update.
var figures = []figure{
	{"the spread of scores", []string{"reward_std", "critic/score/std", "reward/std", "rewards/std", "outputs/score_std"}, []string{"reward_flat", "reward_jump"},
		func(it *run.Iteration, x float64) { it.Outputs.ScoreStd = x }},
	{"the divergence of an update", []string{"actor/ppo_kl", "policy/approxkl_avg", "ppo_kl", "policy/ppo_kl", "approx_kl", "update/kl"}, []string{"kl"},
		func(it *run.Iteration, x float64) { it.Update.KL = x }},
	{"entropy", []string{"entropy", "actor/entropy", "actor/entropy_loss", "policy/entropy_avg", "policy/policy_entropy", "update/entropy"}, []string{"entropy_collapse"},
		func(it *run.Iteration, x float64) { it.Update.Entropy = x }},
	{"the norm of the gradient", []string{"grad_norm", "actor/grad_norm", "policy/grad_norm", "actor_grad_norm", "update/grad_norm"}, []string{"gradient_explosion"},
		func(it *run.Iteration, x float64) { it.Update.GradNorm = x }},
	{"the loss of the critic", []string{"critic/vf_loss", "loss/value_avg", "critic_loss", "critic/critic_loss", "update/value_loss"}, []string{"value_loss"},
		func(it *run.Iteration, x float64) { it.Update.ValueLoss = x }},
	{"the length of outputs", []string{"completions/mean_length", "completion_length", "response_length/mean", "response_length", "generate/avg_num_tokens", "outputs/words"}, []string{"length"},
		func(it *run.Iteration, x float64) { it.Outputs.Words = x }},
	{"the share of groups without variance", []string{"frac_reward_zero_std", "advantage/zero_variance_rate"}, []string{"no_variance"},
		func(it *run.Iteration, x float64) {
			it.Advantage.ZeroVarianceRate = x
			it.Rollout.Episodes = 2 * it.Outputs.Groups // there are groups of several
		}},
}

// never are the flags that need episodes, and what metrics do not hold of them.
var never = []Gap{
	{[]string{"perfect_scores", "repetition", "lost_diversity", "unscored"}, "metrics hold no episodes: watch the rollouts, too"},
	{[]string{"held_out_gap"}, "metrics hold no share of successes in training and in validation"},
	{[]string{"singleton_anchors"}, "metrics do not hold which states are the same"},
}

// table are the metrics of a trainer by step.
type table struct {
	steps map[int]map[string]float64
}

func newTable() *table { return &table{map[int]map[string]float64{}} }

// maxNames limits the names of a step.
const maxNames = 10_000

// add adds a number; that of a later line or file replaces it, as when training resumed.
func (t *table) add(step int, name string, x float64) {
	row := t.steps[step]
	if row == nil {
		row = map[string]float64{}
		t.steps[step] = row
	}
	name = strings.TrimPrefix(name, "train/")
	if len(row) < maxNames && !math.IsNaN(x) && !math.IsInf(x, 0) {
		row[name] = x
	}
}

// named returns the first of names that any row has; empty if none has.
func named(rows []map[string]float64, names []string) string {
	for _, name := range names {
		if slices.ContainsFunc(rows, func(row map[string]float64) bool { _, ok := row[name]; return ok }) {
			return name
		}
	}
	return ""
}

// look raises the flags over a table.
func (t *table) look(o Options, where string) (*Report, error) {
	w := newWatcher(o)
	names := scoreNames
	if o.Score != "" {
		names = []string{o.Score}
	}
	all := slices.Collect(maps.Values(t.steps))
	score := named(all, names)
	if score == "" {
		return nil, &fault.Error{Boundary: fault.Data, Kind: fault.Missing, Where: where, What: "no row has the mean score of an iteration: " + strings.Join(names, ", "), Hint: "name the metric with --score"}
	}
	var steps []int
	var rows []map[string]float64
	for _, step := range slices.Sorted(maps.Keys(t.steps)) {
		if _, ok := t.steps[step][score]; ok {
			steps, rows = append(steps, step), append(rows, t.steps[step])
		}
	}
	m := &metrics{watcher: w, score: score, read: []Source{{"the mean score", score}}}
	m.choose(rows)
	if err := m.wanted(rows, where); err != nil {
		return nil, err
	}
	for i, row := range rows {
		m.iterate(steps[i], row, where)
	}
	r := w.report
	r.Read = m.read
	r.NotWatched = append(append(append(r.NotWatched, never...), m.lacking...), w.early()...)
	r.Success = w.history[len(w.history)-1].Rollout.Success
	if len(o.Watch) == 0 {
		r.NotWatched = append(r.NotWatched, Gap{[]string{"divergence"}, "no metric is watched beside the score: name one with --watch"})
	}
	for _, name := range slices.Sorted(maps.Keys(allNames(rows))) {
		if !slices.ContainsFunc(m.read, func(s Source) bool { return s.Name == name }) {
			r.Unused = append(r.Unused, name)
		}
	}
	return r, nil
}

func allNames(rows []map[string]float64) map[string]bool {
	names := map[string]bool{}
	for _, row := range rows {
		for name := range row {
			names[name] = true
		}
	}
	return names
}

// Source says from which metric of the trainer something was read.
type Source struct {
	About string `json:"about"`
	Name  string `json:"name"`
}

// metrics raises flags over the metrics of another trainer.
type metrics struct {
	*watcher
	score   string
	read    []Source
	chosen  []chosen
	lacking []Gap
}

type chosen struct {
	name string
	set  func(*run.Iteration, float64)
}

// choose decides which figures are read: those that every row has. It turns the flags of the others
// off, because a number that is missing is not 0.
func (m *metrics) choose(rows []map[string]float64) {
	m.c.Off = nil
	for _, gap := range never {
		m.c.Off = append(m.c.Off, gap.Flags...)
	}
	for _, f := range figures {
		name := named(rows, f.names)
		missing := 0
		for _, row := range rows {
			if _, ok := row[name]; !ok {
				missing++
			}
		}
		switch {
		case name != "" && missing == 0:
			m.read = append(m.read, Source{f.about, name})
			m.chosen = append(m.chosen, chosen{name, f.set})
			continue
		case name == "":
			m.lacking = append(m.lacking, Gap{f.flags, "no metric is " + f.about + ": " + strings.Join(f.names[:2], ", ") + " or the like"})
		default:
			m.lacking = append(m.lacking, Gap{f.flags, fmt.Sprintf("%s is missing in %d of %d iterations", name, missing, len(rows))})
		}
		m.c.Off = append(m.c.Off, f.flags...)
	}
	m.c.Watch = nil
}

// watchedKey returns the name of a metric for the monitor, which has its own meaning of some names.
func watchedKey(name string) string {
	if measured[name] || name == "success" {
		return "metric " + name
	}
	return name
}

// wanted sets what must not fall while the score rises.
func (m *metrics) wanted(rows []map[string]float64, where string) error {
	if m.named != "" {
		m.chosen = append(m.chosen, chosen{m.named, func(it *run.Iteration, x float64) { it.Rollout.Success = x }})
	}
	for _, entry := range append(slices.Clip(m.o.Watch), m.named) {
		if entry == "" {
			continue
		}
		name := strings.TrimPrefix(entry, "-")
		for _, row := range rows {
			if _, ok := row[name]; !ok {
				return &fault.Error{Boundary: fault.Data, Kind: fault.Missing, Where: where, What: "not every iteration has the metric " + name, Hint: "name a metric of the trainer that every iteration has"}
			}
		}
		if entry == m.named {
			m.read = append(m.read, Source{"the share of successes", name})
			continue
		}
		m.read = append(m.read, Source{"watched", name})
		m.c.Watch = append(m.c.Watch, strings.TrimSuffix(entry, name)+watchedKey(name))
	}
	return nil
}

// iterate adds an iteration and raises its flags.
func (m *metrics) iterate(step int, row map[string]float64, where string) {
	it := run.Iteration{
		Iteration: step, Rollout: &run.Rollout{Episodes: 1}, Advantage: &run.Advantage{}, Update: &run.Update{},
		Outputs: &run.Outputs{Groups: 1, Score: row[m.score], Metrics: map[string]float64{}},
	}
	for _, c := range m.chosen {
		c.set(&it, row[c.name])
	}
	for _, entry := range m.o.Watch {
		name := strings.TrimPrefix(entry, "-")
		it.Outputs.Metrics[watchedKey(name)] = row[name]
	}
	m.history = append(m.history, it)
	last := &m.history[len(m.history)-1]
	last.Alarms = m.c.Look(m.history)
	r := m.report
	for _, a := range last.Alarms {
		if m.named == "" { // nothing is known of it
			a.Evidence = strings.TrimSuffix(a.Evidence, " while success is 0.0 %")
		}
		r.Flags = append(r.Flags, Flag{Alarm: a, Files: []string{where}})
	}
	if r.Iterations == 0 {
		r.First = step
	}
	r.Iterations, r.Last = r.Iterations+1, cmp.Or(step, r.Last)
}
