package rewardspage

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/merit-rl/merit/internal/traces/store"
	"github.com/merit-rl/merit/internal/traces/trace"
)

// Want selects rewards, such as those in a bar. Nil fields select all.
type Want struct {
	Key     Key
	Agent   *string
	Least   *float64 // minimum score
	Most    *float64 // maximum score
	Below   *float64 // scores below this
	Outcome string   // an outcome without a score; if set, scored rewards are excluded
	From    int      // number of matches to skip
}

// Found is a page of rewards.
type Found struct {
	Rewards []One `json:"rewards"`
	Next    int   `json:"next,omitempty"` // Want.From of the next page; 0 on the last page
}

// One is a reward with its trace.
type One struct {
	Trace   string    `json:"trace"`
	Span    string    `json:"span"`
	Of      string    `json:"of,omitempty"`
	Agent   string    `json:"agent,omitempty"`
	Task    string    `json:"task,omitempty"`
	Start   time.Time `json:"start"` // start of the trace
	Outcome string    `json:"outcome"`
	Score   *float64  `json:"score"` // null unless the outcome is scored
	Reason  string    `json:"reason,omitempty"`
}

// mostReason is the number of characters of a reason that a list shows.
const mostReason = 200

// Find returns rewards of the traces that match q, newest traces first.
func Find(ctx context.Context, s *store.Store, q trace.Query, want Want) (Found, error) {
	q.Limit, q.After, q.Newest = 0, "", true
	out := Found{Rewards: []One{}}
	seen := 0
	err := s.Rewards(ctx, q, func(h *trace.Head, r *trace.Span) error {
		if !want.chooses(h, r) {
			return nil
		}
		if seen++; seen <= want.From {
			return nil
		}
		if len(out.Rewards) == PageRows {
			out.Next = want.From + PageRows
			return errEnough
		}
		one := One{Trace: h.ID, Span: r.ID, Of: r.Reward.Of, Agent: cmp.Or(r.Agent, h.Agent), Task: h.Task, Start: h.Start, Outcome: r.Reward.Outcome, Score: r.Reward.Score}
		if result := r.Reward.Result; result != nil {
			one.Reason = shorten(cmp.Or(result.Reason, result.Error))
		}
		out.Rewards = append(out.Rewards, one)
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) {
		return Found{}, err
	}
	return out, nil
}

func (w *Want) chooses(h *trace.Head, s *trace.Span) bool {
	if keyOf(s) != w.Key || w.Agent != nil && cmp.Or(s.Agent, h.Agent) != *w.Agent {
		return false
	}
	score := s.Reward.Score
	if w.Outcome != "" {
		return score == nil && s.Reward.Outcome == w.Outcome
	}
	if w.Least == nil && w.Most == nil && w.Below == nil {
		return true
	}
	return score != nil && (w.Least == nil || *score >= *w.Least) && (w.Most == nil || *score <= *w.Most) && (w.Below == nil || *score < *w.Below)
}

func shorten(s string) string {
	n := 0
	for i := range s {
		if n++; n > mostReason {
			return s[:i] + "…"
		}
	}
	return s
}
