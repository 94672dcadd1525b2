package council

import (
	"context"
	"time"

	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/internal/traces/trace"
)

// Rule is how the score of a decision is shared among agents.
type Rule = string

// The rules.
const (
	Team Rule = "team" // each agent gets the score of the decision
	Own  Rule = "own"  // each agent gets the score of its own last answer
	// Gain is the score of the decision minus the score of the decision that the last round
	// would have had without the agent's answer and vote (difference rewards, Wolpert and
	// Tumer, 2002). If there is no other option, it is the whole score.
	Gain Rule = "difference"
)

// Score returns the score of the decision, given the scores of the members' last answers (nil
// = no score); nil if it has none.
func (r *Result) Score(scores []*float64) *float64 {
	if len(r.By) == 0 {
		return nil
	}
	return r.scoreOf(r.By[0], scores)
}

// scoreOf returns the score of an agent's last answer.
func (r *Result) scoreOf(agent string, scores []*float64) *float64 {
	for i, a := range r.last().Answers {
		if a.Agent == agent {
			return scores[i]
		}
	}
	return nil
}

// Credit returns the share of each member by rule, in their order, given the scores of their
// last answers. A share that depends on a missing score is nil, never 0.
//
// Shapes: scores [members] → [members].
func (r *Result) Credit(rule Rule, scores []*float64) []*float64 {
	credit := make([]*float64, len(scores))
	final := r.Score(scores)
	list := options(r.last().Answers)
	name := func(i int) string { return r.last().Answers[i].Agent }
	for i := range scores {
		switch rule {
		case Own:
			credit[i] = scores[i]
		case Gain:
			if final == nil {
				continue
			}
			gain := *final
			if other, _ := leading(list, r.last().Votes, name, i); other != nil {
				worth := r.scoreOf(name(other.authors[0]), scores)
				if worth == nil {
					continue
				}
				gain -= *worth
			}
			credit[i] = &gain
		default:
			credit[i] = final
		}
	}
	return credit
}

// Rewards returns the reward spans of a decision: its score for the whole trace, and the share
// of each member for its last answer. Evaluations are those of the members' last answers; name
// and digest are those of the reward.
func (r *Result) Rewards(id, name, digest string, rule Rule, evaluations []reward.Evaluation, now time.Time) []trace.Span {
	scores := Scores(evaluations)
	credit := r.Credit(rule, scores)
	span := func(at, of, what string, score *float64, e *reward.Evaluation) trace.Span {
		s := trace.Span{Trace: id, ID: "zzz." + at, Agent: "council", Kind: trace.KindReward, Name: what, Start: now, End: now, Status: trace.StatusOK,
			Reward: &trace.Reward{Digest: digest, Of: of, Outcome: string(reward.Infrastructure), Score: score}}
		switch {
		case score != nil:
			s.Reward.Outcome = string(reward.Scored)
		case e != nil && e.Outcome != reward.Scored && e.Outcome != "":
			s.Reward.Outcome, s.Error = string(e.Outcome), clip(e.Reason, maxReason)
		}
		return s
	}
	var list []trace.Span
	for i, a := range r.last().Answers {
		e := &evaluations[i]
		if len(r.By) > 0 && a.Agent == r.By[0] {
			list = append(list, span("reward", "", name, scores[i], e))
		}
		if round := r.answeredIn(i); round >= 0 {
			s := span("share."+a.Agent, answerSpan(round, a.Agent), name+" share: "+rule, credit[i], e)
			s.Agent = a.Agent
			list = append(list, s)
		}
	}
	return list
}

// answeredIn returns the round of a member's last answer, or −1 if there is none.
func (r *Result) answeredIn(member int) int {
	for n := len(r.Rounds) - 1; n >= 0; n-- {
		if r.Rounds[n].Answers[member].Text != "" {
			return n
		}
	}
	return -1
}

// Scores returns the scores of evaluations; nil for those without one.
func Scores(evaluations []reward.Evaluation) []*float64 {
	scores := make([]*float64, len(evaluations))
	for i, e := range evaluations {
		if e.Outcome == reward.Scored {
			score := e.Result.Score
			scores[i] = &score
		}
	}
	return scores
}

// Evaluate scores each member's last answer. A member that never answered has the outcome
// invalid.
func (r *Result) Evaluate(ctx context.Context, pool *reward.Pool) []reward.Evaluation {
	out := make([]reward.Evaluation, len(r.answers))
	for i, t := range r.answers {
		if t == nil {
			out[i] = reward.Evaluation{Outcome: reward.Invalid, Reason: "the agent never answered"}
			continue
		}
		out[i] = pool.EvaluateUnit(ctx, r.answers[i:i+1])[0]
	}
	return out
}
