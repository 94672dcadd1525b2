package council

import (
	"context"
	"time"

	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/internal/traces/trace"
)

// Rule says what an agent gets of the score of a decision.
type Rule = string

// The closed set of rules.
const (
	Team Rule = "team" // all get the score of the decision
	Own  Rule = "own"  // each gets the score of its own last answer
	// Gain is the score of the decision less that of what would have been decided
	// in the last round without the agent's answer and vote (difference rewards,
	// Wolpert and Tumer, 2002). Without anything else to decide it is all of it.
	Gain Rule = "difference"
)

// Score is the score of the decision, out of those of the members' last answers
// (nil = no score); nil if it has none.
func (r *Result) Score(scores []*float64) *float64 {
	if len(r.By) == 0 {
		return nil
	}
	return r.scoreOf(r.By[0], scores)
}

// scoreOf is the score of an agent's last answer.
func (r *Result) scoreOf(agent string, scores []*float64) *float64 {
	for i, a := range r.last().Answers {
		if a.Agent == agent {
			return scores[i]
		}
	}
	return nil
}

// Credit returns what each member gets by rule, in their order, out of the scores
// of their last answers. What a missing score would be needed for has none: it is
// never 0 for want of a number.
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

// Rewards are the spans of a decision's rewards: of the whole trace what the
// decision was worth, and of each member's last answer its share. Evaluations
// are those of the members' last answers, name and digest the reward's.
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

// answeredIn is the round of a member's last answer; −1 if there is none.
func (r *Result) answeredIn(member int) int {
	for n := len(r.Rounds) - 1; n >= 0; n-- {
		if r.Rounds[n].Answers[member].Text != "" {
			return n
		}
	}
	return -1
}

// Scores are those of evaluations; nil where there is none.
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

// Evaluate has score look at each member's last answer. One that never answered
// has no evaluation: its outcome is invalid.
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
