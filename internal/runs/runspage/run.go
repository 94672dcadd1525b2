package runspage

import (
	"cmp"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/merit-rl/merit/core/run"
	"github.com/merit-rl/merit/internal/runs/restart"
	"github.com/merit-rl/merit/internal/runs/spent"
	"github.com/merit-rl/merit/internal/ui"
)

// detail is the initial data of a run's page; changes arrive as state.
type detail struct {
	ID        string
	Manifest  *run.Manifest
	Summary   *run.Summary // nil if the run is not finished
	Rows      []versus
	Config    string
	Metrics   []string // all figures of the run
	Cost      spent.Table
	Preferred []string // how often raters preferred the trained policy to the one before
	Rubrics   bool     // whether rubrics were written in its test split
	From      string   // id of the run that it started from; empty if that is not in the folder
	Problem   string   // why part of the data is missing
}

// versus is a measurement before and after training.
type versus struct {
	Name                             string
	Before, After                    float64
	BeforeLow, BeforeHigh, Low, High float64
	Percent                          bool
}

func (o *pages) runPage(r *http.Request) (ui.View, error) {
	id, dir, err := o.one(r)
	if err != nil {
		return ui.View{}, err
	}
	d := detail{ID: id}
	var problems []string
	note := func(err error) {
		if err != nil {
			problems = append(problems, err.Error())
		}
	}
	d.Manifest, err = run.ReadManifest(dir)
	note(err)
	d.From, _ = o.origin(dir, d.Manifest)
	if text, err := run.ReadConfig(dir); err == nil {
		d.Config = string(text)
	} else {
		note(err)
	}
	if _, missing := os.Stat(filepath.Join(dir, run.SummaryFile)); missing == nil {
		d.Summary, err = run.ReadSummary(dir)
		note(err)
	}
	if d.Summary != nil {
		d.Rows = beforeAfter(d.Summary)
		first, err := bothWrote(dir, 1)
		note(err)
		d.Rubrics = len(first) > 0
		d.Preferred, err = preferred("", dir)
		note(err)
	}
	note(o.cache.use(dir, func(h *history) error {
		d.Metrics, d.Cost = h.names(), h.spent(d.Summary, d.Manifest).Table()
		return nil
	}))
	d.Problem = strings.Join(problems, "\n")
	return ui.View{Title: id, Data: d}, nil
}

// spent returns what the run used; of an unfinished run, what its iterations used.
func (h *history) spent(s *run.Summary, m *run.Manifest) spent.Of {
	if s != nil {
		return spent.Finished(s, m)
	}
	of := spent.Of{Cost: h.cost, CPU: h.cpu}
	if m != nil {
		of.Repeated = m.Repeated
	}
	return of
}

// beforeAfter returns the rows of the final table.
func beforeAfter(s *run.Summary) []versus {
	b, t := s.Baseline.Score, s.Trained.Score
	rows := []versus{
		{"success", b.Success, t.Success, b.SuccessInterval[0], b.SuccessInterval[1], t.SuccessInterval[0], t.SuccessInterval[1], true},
		{"return", b.Return, t.Return, b.ReturnInterval[0], b.ReturnInterval[1], t.ReturnInterval[0], t.ReturnInterval[1], false},
		{"length", b.Length, t.Length, b.LengthInterval[0], b.LengthInterval[1], t.LengthInterval[0], t.LengthInterval[1], false},
	}
	if w := t.Wins; w != nil {
		wins := []versus{
			{"win rate", 0.5, w.Rate, 0.5, 0.5, w.Interval[0], w.Interval[1], true},
			{"Bradley–Terry", 0, w.Strength, 0, 0, w.StrengthInterval[0], w.StrengthInterval[1], false},
		}
		rows = append(wins, rows...)
	}
	if x, y := s.Baseline.Greedy, s.Trained.Greedy; x != nil && y != nil {
		rows = append(rows, versus{"greedy success", x.Success, y.Success, x.SuccessInterval[0], x.SuccessInterval[1], y.SuccessInterval[0], y.SuccessInterval[1], true})
	}
	for _, name := range run.MetricNames(b, t) {
		x, ok := b.Metric(name)
		y, too := t.Metric(name)
		if ok && too {
			rows = append(rows, versus{name, x.Mean, y.Mean, x.Interval[0], x.Interval[1], y.Interval[0], y.Interval[1], false})
		}
	}
	return rows
}

// names returns the figures of a run that are plotted: not counters of the run itself, nor the
// bounds of intervals.
func (h *history) names() []string {
	var all []string
	for name := range h.columns {
		if !axes[name] && name != "best" && !strings.Contains(name, "interval/") && !strings.HasPrefix(name, "saved/") {
			all = append(all, name)
		}
	}
	slices.Sort(all)
	return all
}

// state is the part of a run's data that changes during the run.
type state struct {
	Row
	Flags    []flag    `json:"flags"`    // newest first
	Cautions []caution `json:"cautions"` // iterations at which the learner was slowed down
	Outcomes []share   `json:"outcomes"` // of all training episodes, most frequent first
	Kept     []int     `json:"kept"`     // iterations with saved groups: the newest, at most mostKept
}

// flag is a red flag with the command that restarts the run, which may be empty.
type flag struct {
	run.Alarm
	Restart string `json:"restart,omitempty"`
}

type caution struct {
	Iteration int `json:"iteration"`
	run.Caution
}

// share is a part of a whole.
type share struct {
	Name  string  `json:"name"`
	Count float64 `json:"count"`
	Share float64 `json:"share"`
}

const (
	mostFlags = 500
	mostKept  = 50
)

// state returns the current state of a run.
func (o *pages) state(r *http.Request) (any, error) {
	id, dir, err := o.one(r)
	if err != nil {
		return nil, err
	}
	p, _ := look(dir)
	p.ID = id
	s := state{Row: o.brief(p), Flags: []flag{}, Cautions: []caution{}, Outcomes: []share{}, Kept: []int{}}
	err = o.cache.use(dir, func(h *history) error {
		for i := len(h.alarms) - 1; i >= 0 && len(s.Flags) < mostFlags; i-- {
			s.Flags = append(s.Flags, flag{h.alarms[i], restart.Advice(dir, h.alarms[i])})
		}
		for _, it := range h.adapted {
			s.Cautions = append(s.Cautions, caution{it.Iteration, *it.Adapted})
		}
		for i := len(h.frames) - 1; i >= 0 && len(s.Kept) < mostKept; i-- {
			s.Kept = append(s.Kept, h.frames[i].Iteration)
		}
		s.Outcomes = append(s.Outcomes, h.outcomes()...)
		return nil
	})
	return s, err
}

func (h *history) outcomes() (all []share) {
	total := 0.0
	for name, column := range h.columns {
		outcome, ok := strings.CutPrefix(name, "outcomes/")
		if !ok {
			continue
		}
		n := 0.0
		for _, x := range column {
			if !math.IsNaN(x) {
				n += x
			}
		}
		all = append(all, share{Name: outcome, Count: n})
		total += n
	}
	for i := range all {
		all[i].Share = all[i].Count / max(total, 1)
	}
	slices.SortFunc(all, func(a, b share) int { return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Name, b.Name)) })
	return all
}
