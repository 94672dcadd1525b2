package play

import (
	"context"
	"math"

	"github.com/merit-rl/merit/core/rl"
)

// Curve says how good the state before each step of an episode is for the policy: how its
// continuations end. The last point is the end of the episode itself.
type Curve struct {
	Episode       string  `json:"episode"`
	Group         string  `json:"group,omitempty"`
	Continuations int     `json:"continuations"`
	Points        []Point `json:"points"` // one more than the episode has steps
	// Measure is what the turns are about: success, or score if no continuation succeeded.
	Measure string `json:"measure"`
	// Lost is the step with the largest fall, and Won that with the largest rise, of those that
	// chance does not explain (p below 0.05 after Bonferroni's correction for all steps); nil
	// without one.
	Lost   *Turn `json:"lost,omitempty"`
	Won    *Turn `json:"won,omitempty"`
	Played int   `json:"played_steps"` // by the continuations, unless they were known
}

// Point is the state before a step.
type Point struct {
	Step   int    `json:"step"`
	Action string `json:"action,omitempty"` // that was recorded; empty at the end
	// P is the probability of that action under the policy, if the policy tells.
	P        *float64  `json:"p,omitempty"`
	Value    *float64  `json:"value,omitempty"` // the policy's own estimate of the state
	Success  *Estimate `json:"success"`         // nil without a score
	Score    *Estimate `json:"score"`
	Unscored int       `json:"unscored,omitempty"`
	// Change is by how much the recorded action moved the measure, in pairs.
	Change *Change `json:"change,omitempty"`
}

// Turn is a step at which an episode was lost or won.
type Turn struct {
	Step   int     `json:"step"`
	Action string  `json:"action"`
	From   float64 `json:"from"`
	To     float64 `json:"to"`
	Change Change  `json:"change"`
}

// Curve plays continuations from every state of the episode.
func (g *Game) Curve(ctx context.Context) (*Curve, error) {
	t := g.Episode
	c := &Curve{Episode: t.ID, Group: t.Group, Continuations: g.options.Continuations, Measure: Score}
	played := g.Played
	g.done = 0
	all := make([][]Result, len(t.Steps)+1)
	for i := range all {
		var err error
		if all[i], err = g.continued(ctx, i, nil); err != nil {
			return nil, err
		}
		c.Points = append(c.Points, g.point(i, all[i]))
		if s := c.Points[i].Success; s != nil && s.Mean > 0 {
			c.Measure = Success
		}
	}
	c.turns(all)
	c.Played = g.Played - played
	return c, nil
}

func (g *Game) point(i int, all []Result) Point {
	b := g.branch(i, "", all)
	p := Point{Step: i, Success: b.Success, Score: b.Score, Unscored: b.Unscored}
	if i == len(g.Episode.Steps) {
		return p
	}
	p.Action, p.Value = Action(&g.Episode.Steps[i]), g.Seen[i].Value
	for k, name := range g.Seen[i].Available {
		if name == p.Action && g.Seen[i].P != nil {
			p.P = &g.Seen[i].P[k]
		}
	}
	return p
}

// turns sets the changes, and finds the largest of them.
func (c *Curve) turns(all [][]Result) {
	for i := range len(all) - 1 {
		p := &c.Points[i]
		p.Change = change(all[i], all[i+1], c.Measure)
		if !p.Change.beyond(len(all) - 1) {
			continue
		}
		turn := &Turn{Step: i, Action: p.Action, From: c.At(i), To: c.At(i + 1), Change: *p.Change}
		switch d := p.Change.Mean; {
		case d < 0 && (c.Lost == nil || d < c.Lost.Change.Mean):
			c.Lost = turn
		case d > 0 && (c.Won == nil || d > c.Won.Change.Mean):
			c.Won = turn
		}
	}
}

// At returns the measure of a point, or NaN if none of its continuations has a score.
func (c *Curve) At(i int) float64 {
	switch p := c.Points[i]; {
	case p.Success == nil:
		return math.NaN()
	case c.Measure == Success:
		return p.Success.Mean
	default:
		return p.Score.Mean
	}
}

// Row is a step of an episode with its process reward, as package rowio reads it: by how much
// the step changed the mean score of the continuations. The rewards of an episode add up to its
// score minus the mean score of the continuations of its start.
type Row struct {
	Group        string   `json:"group"`
	Trajectory   string   `json:"trajectory"`
	Step         int      `json:"step"`
	Observation  string   `json:"observation"` // the state: Step.Anchor
	Action       string   `json:"action"`
	Reward       *float64 `json:"reward"`
	EpisodeScore *float64 `json:"episode_score"`
	// MeanScore is that of the continuations before the step, and Success their share of
	// successes.
	MeanScore     *float64 `json:"mean_score"`
	Success       *float64 `json:"success"`
	Continuations int      `json:"continuations"`
}

// Rows returns the process rewards of an episode. An episode in which a state has no scored
// continuation has no score in any row.
func (c *Curve) Rows(t *rl.Trajectory) []Row {
	whole := true
	for _, p := range c.Points {
		whole = whole && p.Score != nil
	}
	rows := make([]Row, len(t.Steps))
	for i := range rows {
		p, next := &c.Points[i], &c.Points[i+1]
		rows[i] = Row{Group: t.Group, Trajectory: t.ID, Step: i, Observation: t.Steps[i].Anchor, Action: p.Action, Continuations: c.Continuations}
		if p.Score != nil {
			rows[i].MeanScore, rows[i].Success = &p.Score.Mean, &p.Success.Mean
		}
		if whole {
			reward := next.Score.Mean - p.Score.Mean
			rows[i].Reward, rows[i].EpisodeScore = &reward, &c.Points[len(t.Steps)].Score.Mean
		}
	}
	return rows
}
