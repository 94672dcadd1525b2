package reward

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/merit-rl/merit/core/rl"
)

// score evaluates the members of one unit of work into out.
func (p *Pool) score(ctx context.Context, members []*rl.Trajectory, out []Evaluation) {
	var healthy []*rl.Trajectory
	var at []int
	for i, t := range members {
		if t.StopReason == rl.StopError {
			out[i] = Evaluation{Outcome: Infrastructure, Reason: "the episode was lost to a fault: " + t.Error}
			continue
		}
		if !t.Answered() {
			out[i] = Evaluation{Outcome: Invalid, Reason: unanswered(t)}
			continue
		}
		healthy = append(healthy, t)
		at = append(at, i)
	}
	for j, row := range p.rows(ctx, healthy) {
		out[at[j]] = p.compose(healthy[j], row)
		out[at[j]].Fatal = fatal(row)
	}
}

// unanswered returns why no reward is called for t.
func unanswered(t *rl.Trajectory) string {
	if n := t.Given(); n > 0 {
		return fmt.Sprintf("there is no assistant message after the %d messages of the prompt", n)
	}
	return "there is no assistant message"
}

// fatal returns the first error of evaluations after which there can be no other.
func fatal(evaluations []Evaluation) error {
	for i := range evaluations { // an evaluation is too large to copy it for this
		if err := evaluations[i].Fatal; err != nil {
			return err
		}
	}
	return nil
}

// rows returns the results of the parts: one row for each member, with one
// evaluation for each part.
func (p *Pool) rows(ctx context.Context, members []*rl.Trajectory) [][]Evaluation {
	rows := make([][]Evaluation, len(members))
	for j, t := range members {
		if p.shared != nil {
			rows[j] = settled(p.shared.EvaluateEach(ctx, p.scorers, t))
		} else {
			rows[j] = make([]Evaluation, len(p.parts))
		}
	}
	if p.shared == nil {
		for k, part := range p.parts {
			for j, e := range part.evaluate(ctx, members) {
				rows[j][k] = e
			}
		}
	}
	return rows
}

// evaluate runs one part over the members of a group and checks its contract.
func (w Weighted) evaluate(ctx context.Context, members []*rl.Trajectory) []Evaluation {
	var evaluations []Evaluation
	if g, ok := w.Scorer.(GroupScorer); ok && w.Scorer.Info().Group {
		size := w.Scorer.Info().batch()
		for rest := members; len(rest) > 0; {
			n := len(rest)
			if size > 0 {
				n = min(n, size)
			}
			if got := g.EvaluateGroup(ctx, rest[:n]); evaluations == nil {
				evaluations = slices.Clip(got)
			} else {
				evaluations = append(evaluations, got...)
			}
			rest = rest[n:]
		}
		if len(evaluations) != len(members) {
			reason := fmt.Sprintf("the reward returned %d evaluations for a group of %d", len(evaluations), len(members))
			evaluations = slices.Repeat([]Evaluation{{Outcome: ABIViolation, Reason: reason}}, len(members))
		}
	} else {
		for _, t := range members {
			evaluations = append(evaluations, w.Scorer.Evaluate(ctx, t))
		}
	}
	return settled(evaluations)
}

func settled(evaluations []Evaluation) []Evaluation {
	for i := range evaluations {
		evaluations[i].settle()
	}
	return evaluations
}

// settle makes sure that Scored means a valid, finite score.
func (e *Evaluation) settle() {
	switch {
	case e.Outcome != Scored:
		e.Result.IsScoreValid = false
	case !e.Result.IsScoreValid:
		e.Outcome, e.Reason = Invalid, cmp.Or(e.Reason, e.Result.Reason, "the reward marked the score as invalid")
	case math.IsNaN(e.Result.Score) || math.IsInf(e.Result.Score, 0):
		e.Outcome, e.Reason = ABIViolation, fmt.Sprintf("the score is %v", e.Result.Score)
		e.Result.IsScoreValid = false
	}
}

// compose joins the results of the parts for t.
//
// The score is the weighted sum of the scores, and the base reward of a step the
// weighted sum of its base rewards. If some parts return step outputs and others
// do not, the scores of the others count at the last assistant message, as
// alignment does for a reward without step outputs. Metrics and reasons have the
// part's name as prefix, and each part's own score becomes a metric with its weight. If one part
// has no score, the whole has none.
func (p *Pool) compose(t *rl.Trajectory, parts []Evaluation) Evaluation {
	out := Evaluation{Notes: p.notes(parts)}
	for i, e := range parts {
		out.Fuel += e.Fuel
		out.Elapsed += e.Elapsed
		out.Log += e.Log
		if e.Outcome != Scored && out.Outcome == "" {
			out.Outcome, out.Reason = e.Outcome, e.Reason
			if len(parts) > 1 {
				out.Reason = p.parts[i].Name + ": " + e.Reason
			}
		}
	}
	if len(parts) == 1 && (p.parts[0].Weight == 1 || out.Outcome != "") {
		parts[0].Notes = out.Notes
		return parts[0]
	}
	if out.Outcome != "" {
		return out
	}
	out.Outcome, out.Result.IsScoreValid = Scored, true
	var reasons []string
	for i, e := range parts {
		out.Result.Score += p.parts[i].Weight * e.Result.Score
		if len(parts) == 1 {
			out.Result.Metrics = e.Result.Metrics
			reasons = append(reasons, e.Result.Reason)
			continue
		}
		name := p.parts[i].Name
		out.Result.Metrics = append(out.Result.Metrics, rl.Metric{Name: name, Score: e.Result.Score, IsScoreValid: true, Reason: e.Result.Reason, Weight: &p.parts[i].Weight})
		out.Result.Metrics = append(out.Result.Metrics, prefixed(name, e.Result.Metrics)...)
		if e.Result.Reason != "" {
			reasons = append(reasons, name+": "+e.Result.Reason)
		}
	}
	out.Result.Reason = strings.Join(reasons, "; ")
	steps, problem := p.composeSteps(t, parts)
	if problem != "" {
		return Evaluation{Outcome: Unaligned, Reason: problem, Fuel: out.Fuel, Elapsed: out.Elapsed, Log: out.Log, Notes: out.Notes}
	}
	out.Result.StepOutputs = steps
	out.settle()
	return out
}

// notes returns the notes of all parts by the parts' names, nil if there are
// none.
func (p *Pool) notes(parts []Evaluation) map[string]json.RawMessage {
	var all map[string]json.RawMessage
	for i, e := range parts {
		for key, note := range e.Notes {
			if all == nil {
				all = map[string]json.RawMessage{}
			}
			name := p.parts[i].Name
			if key != "" {
				name += "/" + key
			}
			all[name] = note
		}
	}
	return all
}

func prefixed(name string, metrics rl.Metrics) rl.Metrics {
	out := slices.Clone(metrics)
	for i := range out {
		out[i].Name, out[i].Weight = name+"/"+out[i].Name, nil
	}
	return out
}

// composeSteps returns the weighted sum of the parts' step outputs in order of the
// steps, nil if no part has any, or why they cannot be added up.
func (p *Pool) composeSteps(t *rl.Trajectory, parts []Evaluation) ([]rl.StepOutput, string) {
	if !slices.ContainsFunc(parts, func(e Evaluation) bool { return len(e.Result.StepOutputs) > 0 }) {
		return nil, ""
	}
	assistant := t.AssistantIndex(nil)
	last := slices.Max(append(assistant, -1))
	var sum []rl.StepOutput
	for k, e := range parts {
		part := p.parts[k]
		steps := slices.Clone(e.Result.StepOutputs)
		if len(steps) == 0 && last >= 0 {
			steps = []rl.StepOutput{{StepIndex: rl.StepIndex(last), BaseReward: e.Result.Score, Reason: "the score"}}
		} else if len(parts) > 1 && part.Scorer.Info().StepIndexing == ByMessage {
			for i, s := range steps {
				if problem := ByMessage.Problem(int(s.StepIndex), t.Messages, t.Given(), int(last)+1); problem != "" {
					return nil, fmt.Sprintf("%s: trajectory %s: %s", part.Name, t.ID, problem)
				}
				steps[i].StepIndex = rl.StepIndex(assistant[s.StepIndex])
			}
		}
		seen := map[rl.StepIndex]bool{}
		for _, s := range steps {
			if seen[s.StepIndex] {
				return nil, fmt.Sprintf("%s: trajectory %s: step_index %d occurs twice", part.Name, t.ID, s.StepIndex)
			}
			seen[s.StepIndex] = true
			s.BaseReward *= part.Weight
			if len(parts) > 1 {
				s.Metrics = prefixed(part.Name, s.Metrics)
				if s.Reason != "" {
					s.Reason = part.Name + ": " + s.Reason
				}
			}
			sum = append(sum, s)
		}
	}
	slices.SortStableFunc(sum, func(a, b rl.StepOutput) int { return cmp.Compare(a.StepIndex, b.StepIndex) })
	return merge(sum), ""
}

// merge adds up neighbors with the same index.
func merge(steps []rl.StepOutput) []rl.StepOutput {
	out := steps[:0]
	for _, s := range steps {
		if n := len(out); n > 0 && out[n-1].StepIndex == s.StepIndex {
			to := &out[n-1]
			to.BaseReward += s.BaseReward
			to.Metrics = append(to.Metrics, s.Metrics...)
			to.Reason = strings.Trim(to.Reason+"; "+s.Reason, "; ")
			continue
		}
		out = append(out, s)
	}
	return out
}
