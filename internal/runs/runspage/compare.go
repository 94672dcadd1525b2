package runspage

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/merit-rl/merit/core/evidence"
	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/run"
	"github.com/merit-rl/merit/internal/labels/preference"
	"github.com/merit-rl/merit/internal/runs/measure"
	"github.com/merit-rl/merit/internal/runs/spent"
	"github.com/merit-rl/merit/internal/ui"
	"github.com/merit-rl/merit/sdk/merit"
)

// overlay is the data of the page that compares runs.
type overlay struct {
	Runs    []column
	Keys    []difference // keys in which the configurations differ
	Same    bool         // they do not differ
	Groups  []group      // runs that differ only in their seeds, together
	Seeds   bool         // a group has several runs
	Means   bool         // there are too many runs to draw each
	Wins    bool         // a run's reward compares, so that its test has a win rate
	Problem string       // why the configurations cannot be compared
	Metrics []string     // figures that any of the runs has
	Cost    spent.Table
}

// column is one of the compared runs.
type column struct {
	ID      string
	Colour  int
	Group   int // in overlay.Groups
	Row     Row
	Summary *run.Summary // nil if the run is not finished
}

// Wins returns the win rate of the test, nil if the run is not finished or its reward does not
// compare.
func (c column) Wins() *run.Wins {
	if c.Summary == nil {
		return nil
	}
	return c.Summary.Trained.Wins
}

// group is a number of runs that differ only in their seeds.
type group struct {
	Name string
	Runs int
}

// difference is a key of the configurations with its value in each run, empty if a run has
// none.
type difference struct {
	Key    string
	Values []string
}

// chosen returns the runs that a request names, or the two newest.
func (o *pages) chosen(r *http.Request) (ids, dirs []string, err error) {
	if err := r.ParseForm(); err != nil {
		return nil, nil, &fault.Error{Boundary: fault.Server, Kind: fault.Invalid, Where: r.URL.Path, What: "the URL is malformed", Err: err, Hint: "correct the URL"}
	}
	for _, id := range r.Form["run"] {
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		all, err := o.find()
		if err != nil {
			return nil, nil, err
		}
		for _, p := range all[:min(2, len(all))] {
			ids = append(ids, p.ID)
		}
	}
	if len(ids) > maxCompared {
		return nil, nil, ui.Wrong("run", strconv.Itoa(len(ids))+" runs are too many to compare", "choose at most "+strconv.Itoa(maxCompared))
	}
	for _, id := range ids {
		dir, err := o.path(id)
		if err != nil {
			return nil, nil, err
		}
		dirs = append(dirs, dir)
	}
	return ids, dirs, nil
}

func (o *pages) comparePage(r *http.Request) (ui.View, error) {
	ids, dirs, err := o.chosen(r)
	if err != nil {
		return ui.View{}, err
	}
	v := overlay{}
	var costs []spent.Of
	for i, id := range ids {
		p, _ := look(dirs[i])
		p.ID = id
		b := column{ID: id, Colour: i % maxOverlay, Row: o.brief(p)}
		b.Summary, _ = run.ReadSummary(dirs[i]) // an unfinished run has no summary
		v.Runs, v.Wins = append(v.Runs, b), v.Wins || b.Wins() != nil
		m, _ := run.ReadManifest(dirs[i]) // without it, what was repeated is unknown
		err := o.cache.use(dirs[i], func(h *history) error {
			v.Metrics = append(v.Metrics, h.names()...)
			costs = append(costs, h.spent(b.Summary, m))
			return nil
		})
		if err != nil {
			return ui.View{}, err
		}
	}
	v.Cost = spent.Compare(ids, costs)
	slices.Sort(v.Metrics)
	v.Metrics = slices.Compact(v.Metrics)
	configs, keys, err := merit.Differences(dirs...)
	if err != nil {
		v.Problem = err.Error()
	}
	for _, key := range keys {
		d := difference{Key: key}
		for _, c := range configs {
			d.Values = append(d.Values, c[key])
		}
		v.Keys = append(v.Keys, d)
	}
	v.Same = err == nil && len(keys) == 0 && len(ids) > 1
	v.group(configs, keys)
	if v.Means = len(ids) > maxOverlay; v.Means && len(v.Groups) > maxOverlay {
		return ui.View{}, ui.Wrong("run", fmt.Sprintf("%d runs with %d different configurations are too many to compare", len(ids), len(v.Groups)), fmt.Sprintf("choose at most %d configurations; runs that differ only in their seed count as one", maxOverlay))
	}
	return ui.View{Title: "Compare", Data: v}, nil
}

// group puts runs whose configurations differ only in their seeds together.
func (v *overlay) group(configs []map[string]string, keys []string) {
	known := map[string]int{}
	for i := range v.Runs {
		r := &v.Runs[i]
		same := r.ID // without configurations, each is alone
		if configs != nil {
			same = ""
			for _, key := range keys {
				if key != "seed" {
					same += configs[i][key] + "\x00"
				}
			}
		}
		n, ok := known[same]
		if !ok {
			n = len(v.Groups)
			known[same], v.Groups = n, append(v.Groups, group{Name: r.ID})
		}
		g := &v.Groups[n]
		r.Group, g.Name = n, common(g.Name, r.ID)
		g.Runs++
		v.Seeds = v.Seeds || g.Runs > 1
	}
	for i := range v.Groups {
		if g := &v.Groups[i]; g.Runs > 1 {
			g.Name = strings.TrimSpace(fmt.Sprintf("%s × %d seeds", strings.TrimRight(g.Name, "-_/. 0123456789"), g.Runs))
		}
	}
}

// common returns the beginning that two names share.
func common(a, b string) string {
	for !strings.HasPrefix(b, a) {
		_, size := utf8.DecodeLastRuneInString(a)
		a = a[:len(a)-size]
	}
	return a
}

// verdict compares the trained policy of a finished run with that of the first: means,
// intervals, tests, and a recommendation.
type verdict struct {
	Run        string               `json:"run"`
	Comparison *evidence.Comparison `json:"comparison,omitempty"`
	Preferred  []string             `json:"preferred,omitempty"` // how often raters preferred it to the first
	Problem    string               `json:"problem,omitempty"`   // why the runs cannot be compared
}

// verdict returns the comparison of each run with the first, as merit compare does. The
// bootstrap takes seconds, so pages request it separately.
func (o *pages) verdict(r *http.Request) (any, error) {
	ids, dirs, err := o.chosen(r)
	if err != nil {
		return nil, err
	}
	out := []verdict{}
	if len(dirs) < 2 {
		return out, nil
	}
	first, _, err := measure.Read(dirs[0])
	for i := 1; i < len(dirs); i++ {
		v := verdict{Run: ids[i]}
		e := err
		if e == nil {
			v.Comparison, e = against(first, dirs[i])
		}
		if e == nil {
			v.Preferred, e = preferred(dirs[0], dirs[i])
		}
		if e != nil {
			v.Problem = e.Error()
		}
		out = append(out, v)
	}
	return out, nil
}

// preferred says how often raters preferred the policy of a run, if they were asked.
func preferred(before, after string) ([]string, error) {
	r, err := preference.Find(before, after, "")
	if r == nil {
		return nil, err
	}
	return r.Sentences(), err
}

func against(first *run.Evaluation, dir string) (*evidence.Comparison, error) {
	other, _, err := measure.Read(dir)
	if err != nil {
		return nil, err
	}
	thresholds, err := measure.Thresholds(dir, []byte(other.Config))
	if err != nil {
		return nil, err
	}
	c, err := evidence.Compare(first, other, thresholds)
	if err != nil {
		return nil, err
	}
	return &c, nil
}
