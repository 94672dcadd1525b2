package tracespage

import (
	"slices"

	"github.com/merit-rl/merit/internal/traces/trace"
)

// Round is what happened among agents in one round.
type Round struct {
	Round  int     `json:"round"`
	Events []Event `json:"events"`
}

// Event is an event of a round.
type Event struct {
	Span      string      `json:"span"`
	Agent     string      `json:"agent,omitempty"`
	Event     trace.Event `json:"event"`
	For       string      `json:"for,omitempty"` // the agent whose answer is meant
	Consensus bool        `json:"consensus,omitempty"`
	Text      *Text       `json:"text,omitempty"`
}

// rounds groups the coordination spans of a trace by round.
func rounds(spans []trace.Span) []Round {
	var out []Round
	at := map[int]int{}
	clip := clipper{}
	for i := range spans {
		s := &spans[i]
		if s.Coordination == nil {
			continue
		}
		c := s.Coordination
		n, there := at[c.Round]
		if !there {
			n = len(out)
			at[c.Round], out = n, append(out, Round{Round: c.Round})
		}
		out[n].Events = append(out[n].Events, Event{s.ID, s.Agent, c.Event, c.For, c.Consensus, clip.maybe(s.Text, "text")})
	}
	slices.SortStableFunc(out, func(a, b Round) int { return a.Round - b.Round })
	return out
}

// rewards returns the rewards of the whole trace, and stores those of spans.
func (v *viewer) rewards() []Given {
	var whole []Given
	for i := range v.trace.All {
		s := &v.trace.All[i]
		switch {
		case s.Reward == nil:
		case s.Reward.Of == "":
			whole = append(whole, v.reward(s))
		default:
			v.given[s.Reward.Of] = append(v.given[s.Reward.Of], v.reward(s))
		}
	}
	return whole
}

func (v *viewer) reward(s *trace.Span) Given {
	r := s.Reward
	g := Given{Span: s.ID, Name: s.Name, By: r.By, Digest: r.Digest, Of: r.Of, Outcome: r.Outcome, Score: r.Score}
	if r.Result == nil {
		return g
	}
	reason, part := r.Result.Reason, "reward.reason"
	if reason == "" {
		reason, part = r.Result.Error, "reward.error"
	}
	g.Reason = v.clip.maybe(reason, part)
	for i, m := range r.Result.Metrics {
		metric := Metric{Name: m.Name, Reason: v.clip.maybe(m.Reason, "reward.metrics", i)}
		if m.IsScoreValid {
			metric.Score = &m.Score
		}
		g.Metrics = append(g.Metrics, metric)
	}
	return g
}
