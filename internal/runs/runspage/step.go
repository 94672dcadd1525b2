package runspage

import (
	"errors"
	"fmt"
	"html/template"
	"math"
	"net/http"
	"slices"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/recheck/explain"
	"github.com/merit-rl/merit/internal/recheck/graphview"
	"github.com/merit-rl/merit/internal/rubric/view"
	"github.com/merit-rl/merit/internal/ui"
)

// explained is the data of the page that explains a step.
type explained struct {
	*explain.Explanation
	Run       string
	Iteration int
	Group     string
	Estimator string
	Before    int // previous step; −1 at the beginning
	After     int // next step; −1 at the end
	Members   []memberRow
	Peers     []peerRow
	Hidden    int           // number of peers that are not shown
	Disagree  int           // steps of the group whose stored numbers differ
	Rubric    template.HTML // rubric written in the episode; empty if there is none
	Drawing   template.HTML // of the graph around the step; empty for estimators without one
}

// Last returns the number of the last step.
func (v explained) Last() int { return v.Steps - 1 }

// memberRow is a member of the group; peerRow is a step with the same state.
type (
	memberRow struct {
		explain.Member
		Self bool
		Step int // target of its link: a step with the same state, or the first step
		Met  bool
	}
	peerRow struct {
		explain.Peer
		Place string // length of the bar for its return among the peers: 0 … 20
	}
)

// mostPeers is the largest number of steps with the same state that a page shows.
const mostPeers = 200

func (o *pages) stepPage(r *http.Request) (ui.View, error) {
	id, dir, err := o.one(r)
	if err != nil {
		return ui.View{}, err
	}
	iteration, err1 := ui.Natural(r, "iteration", -1)
	step, err2 := ui.Natural(r, "step", -1)
	if err := errors.Join(err1, err2); err != nil {
		return ui.View{}, err
	}
	trajectory := r.FormValue("trajectory")
	if of := explain.IterationOf(trajectory); iteration < 0 && of > 0 {
		iteration = of
	}
	k, err := o.keptAt(dir, iteration)
	if err != nil {
		return ui.View{}, err
	}
	settings, err := explain.ReadSettings(dir)
	if err != nil {
		return ui.View{}, err
	}
	settings.Moments = k.Moments
	e, err := explainStep(dir, settings, k, trajectory, step)
	if err != nil {
		return ui.View{}, err
	}
	v := explained{Explanation: e, Run: id, Iteration: k.Iteration, Group: e.Group, Estimator: settings.Advantage.Estimator, Before: e.Step - 1, After: e.Step + 1}
	if v.After >= e.Steps {
		v.After = -1
	}
	v.Disagree, v.Drawing = e.Checked-e.Agree, graphview.Draw(e, ui.Visible)
	v.tables(e)
	if v.Rubric, err = written(k, e.Trajectory); err != nil {
		return ui.View{}, err
	}
	return ui.View{Title: fmt.Sprintf("%s, step %d", e.Trajectory, e.Step), Data: v}, nil
}

// written renders the rubric that was written in a saved episode next to the intended one, or
// returns "" if there is none.
func written(k *kept, trajectory string) (template.HTML, error) {
	for _, t := range k.Episodes {
		if t.ID != trajectory {
			continue
		}
		if v, ok := view.From(t); ok {
			return v.HTML(ui.Visible)
		}
	}
	return "", nil
}

// explainStep explains a step of the saved episodes of an iteration. Without a trajectory, it
// chooses the largest group and the step in it with the largest advantage; without a step, it
// chooses that of the trajectory.
func explainStep(dir string, s explain.Settings, k *kept, trajectory string, step int) (*explain.Explanation, error) {
	groups, names := byGroup(k.Episodes)
	group := largest(groups, names)
	if trajectory != "" {
		group = ""
		for _, name := range names {
			if slices.ContainsFunc(groups[name], func(t *rl.Trajectory) bool { return t.ID == trajectory }) {
				group = name
			}
		}
	}
	b, err := explain.FromTrajectories(s, dir, groups[group])
	if err != nil {
		return nil, err
	}
	b.Expect(s.Members)
	row := b.Row(trajectory, step)
	if row < 0 {
		return nil, &fault.Error{
			Boundary: fault.Storage, Kind: fault.Missing, Where: trajectory, What: fmt.Sprintf("the run did not save this step of iteration %d", k.Iteration),
			Hint: "choose a step on the page of its group; save.groups of the configuration sets how many groups a run saves",
		}
	}
	return b.Explain(row), nil
}

// tables fills the tables of members and peers.
func (v *explained) tables(e *explain.Explanation) {
	met := map[string]int{}
	if e.Anchor != nil {
		low, high := math.Inf(1), math.Inf(-1)
		for _, p := range e.Anchor.Steps {
			low, high = min(low, p.Return), max(high, p.Return)
			if _, ok := met[p.Trajectory]; !ok {
				met[p.Trajectory] = p.Step
			}
		}
		for i, p := range e.Anchor.Steps {
			if i >= mostPeers && !p.Self {
				v.Hidden++
				continue
			}
			at := 20.0
			if high > low {
				at = math.Round(20 * (p.Return - low) / (high - low))
			}
			v.Peers = append(v.Peers, peerRow{p, fmt.Sprint(at)})
		}
	}
	for _, m := range e.Members {
		step, ok := met[m.Trajectory]
		v.Members = append(v.Members, memberRow{Member: m, Self: m.Trajectory == e.Trajectory, Step: step, Met: ok})
	}
}
