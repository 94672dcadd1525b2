package report

import (
	"cmp"
	"html/template"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/core/run"
	"github.com/merit-rl/merit/internal/recheck/explain"
	"github.com/merit-rl/merit/internal/recheck/graphview"
	"github.com/merit-rl/merit/internal/recheck/recompute"
)

// Limits of the explanation of a group; the rest is shown with its credit only.
const (
	fewEpisodes   = 4 // where no whole group was kept
	maxMembers    = 16
	maxExplained  = 400 // steps
	maxPeers      = 64  // of a state
	maxDrawn      = 64  // graphs, of the steps with the largest A_S
	noSuchEpisode = -1
)

// group holds what the steps of one group were compared with.
type group struct {
	Name    string
	Members []member
	Anchors []anchor
	Checked int
	Agree   int
	Missing int
	Drawn   int // steps with a drawing; the others have a smaller A_S, or no graph
}

// member is a trajectory of the group, with its place on the page.
type member struct {
	explain.Member
	Episode int // its index on the page; noSuchEpisode if it is not on the page
}

// anchor is a state with the steps that were taken in it.
type anchor struct {
	Number int
	State  frame
	Peers  []peer
	More   int // number of peers that are not shown
}

type peer struct {
	explain.Peer
	Episode int
}

// why has the parts of one step's advantage.
type why struct {
	*explain.Explanation
	State   int           // the index of its anchor on the page; −1 means none
	Drawing template.HTML // of the graph around the step; empty for estimators without one
}

// credited returns the saved episodes of the last iteration that has any: a whole group
// with the explanations of its steps, or the first few episodes.
func credited(dir string, metrics []run.Iteration) ([]episode, *group, error) {
	all, err := read(dir, "train", math.MaxInt)
	if err != nil || len(all) == 0 {
		return nil, nil, err
	}
	iteration := func(t *rl.Trajectory) string { i, _, _ := strings.Cut(t.ID, "-g"); return i }
	last := iteration(all[len(all)-1])
	var kept []*rl.Trajectory
	for _, t := range all {
		if iteration(t) == last {
			kept = append(kept, t)
		}
	}
	s, err := explain.ReadSettings(dir)
	if err != nil {
		s = explain.DefaultSettings() // the saved credit is still available
	}
	number, _ := strconv.Atoi(strings.TrimPrefix(last, "train-"))
	s.Moments = explain.Moments(metrics, number)
	chosen := foremost(kept, s.Members)
	var out []episode
	for _, t := range chosen[:min(len(chosen), maxMembers)] {
		out = append(out, newEpisode(t, t.ID))
	}
	b, err := explain.FromTrajectories(s, dir, chosen)
	if err != nil || len(b.Groups) != 1 {
		return out, nil, nil // without a group, or with an estimator that needs more than the file has, only the credit
	}
	b.Expect(s.Members)
	return out, explained(b, out), nil
}

// foremost returns the whole group with the largest advantage, or the first
// few episodes if there is none.
func foremost(kept []*rl.Trajectory, members int) (best []*rl.Trajectory) {
	var names []string
	groups := map[string][]*rl.Trajectory{}
	for _, t := range kept {
		if groups[t.Group] == nil {
			names = append(names, t.Group)
		}
		groups[t.Group] = append(groups[t.Group], t)
	}
	largest := -1.0
	for _, name := range names {
		if name == "" || recompute.Members(groups[name]) < max(members, 2) {
			continue
		}
		for _, t := range groups[name] {
			for i := range t.Steps {
				if c := t.Steps[i].Credit; c != nil && max(c.Advantage, -c.Advantage) > largest {
					best, largest = groups[name], max(c.Advantage, -c.Advantage)
				}
			}
		}
	}
	if best == nil {
		return kept[:min(len(kept), fewEpisodes)]
	}
	return best
}

// explained adds the parts of the advantages to the frames of episodes, and returns what
// the steps share.
func explained(b *explain.Batch, episodes []episode) *group {
	g := &group{Name: b.Groups[0]}
	at := map[string]int{}
	for i, e := range episodes {
		at[e.ID] = i
	}
	place := func(id string) int {
		if i, ok := at[id]; ok {
			return i
		}
		return noSuchEpisode
	}
	anchors, all := map[int]int{}, []*why(nil)
	for row := range min(b.Rows.Len(), maxExplained) {
		e := b.Explain(row)
		i := place(e.Trajectory)
		if g.Members == nil {
			g.Checked, g.Agree, g.Missing = e.Checked, e.Agree, e.Missing
			for _, m := range e.Members {
				g.Members = append(g.Members, member{m, place(m.Trajectory)})
			}
		}
		if i < 0 || e.Step >= len(episodes[i].Frames) {
			continue
		}
		w := &why{Explanation: e, State: -1}
		if a := e.Anchor; a != nil {
			n, ok := anchors[a.Number]
			if !ok {
				n = len(g.Anchors)
				anchors[a.Number] = n
				g.Anchors = append(g.Anchors, newAnchor(a, place))
			}
			w.State = n
		}
		episodes[i].Frames[e.Step].Why = w
		all = append(all, w)
	}
	g.Drawn = draw(all)
	return g
}

// draw draws the graphs around the steps whose A_S says most, and returns their number.
func draw(all []*why) (drawn int) {
	slices.SortStableFunc(all, func(a, b *why) int { return cmp.Compare(math.Abs(b.StepAdvantage), math.Abs(a.StepAdvantage)) })
	for _, w := range all[:min(len(all), maxDrawn)] {
		if w.Drawing = graphview.Draw(w.Explanation, nil); w.Drawing != "" {
			drawn++
		}
	}
	return drawn
}

func newAnchor(a *explain.Anchor, place func(string) int) anchor {
	out := anchor{Number: a.Number, State: newFrame(a.Key), More: max(0, len(a.Steps)-maxPeers)}
	for _, p := range a.Steps[:len(a.Steps)-out.More] {
		out.Peers = append(out.Peers, peer{p, place(p.Trajectory)})
	}
	return out
}
