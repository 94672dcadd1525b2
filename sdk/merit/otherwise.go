package merit

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
)

// decidedBy is the metric that a chain adds to each score: the position of the reward that
// gave it, from 0, with the name of that reward as the reason.
const decidedBy = "decided_by"

// followed adds the problems of a reward that is followed by another one.
func (r Reward) followed(p *fault.Problems) {
	next := r.Otherwise
	if next == nil {
		return
	}
	p.Check(next.Weight == 1, "otherwise.weight", next.Weight, "remove it: the weight of the first reward applies to both")
	p.Check(next.Batch == "", "otherwise.batch", next.Batch, "remove it: the second reward gets one trajectory at a time")
	p.Check(r.Rubric == nil, "otherwise", "another reward after a dual evaluation", "remove it, or remove rubric")
	p.Check(next.Rubric == nil, "otherwise.rubric", "a dual evaluation after another reward", "put it into a separate reward")
}

// playing reports whether r or a reward after it is the environment's own.
func (r Reward) playing() bool {
	return slices.ContainsFunc(r.Chain(), func(part Reward) bool { return part.Environment })
}

// sandboxed reports whether r or a reward after it is a module.
func (r Reward) sandboxed() bool {
	return slices.ContainsFunc(r.Chain(), func(part Reward) bool { return part.Module != "" })
}

// chain asks several rewards one after the other until one has a score. It asks the next
// one only if a reward itself reports that it has no valid score (reward.Invalid): any other
// outcome without a score is a failure, and the outcome of the chain.
type chain struct {
	parts []reward.Weighted // with unique names
	info  reward.Info
}

// newChain returns the chain of parts. All but the first must score single trajectories.
func newChain(parts []reward.Weighted) (*chain, error) {
	c := &chain{parts: reward.NewPool(parts, 1).Parts()}
	var p fault.Problems
	for i, part := range c.parts {
		info := part.Scorer.Info()
		info.Name = part.Name
		if i > 0 && info.Group {
			p.Invalid(strings.TrimSuffix(strings.Repeat("otherwise.", i), "."), part.Name+" compares the members of a group, but it would get only those for which "+c.parts[i-1].Name+" has no score",
				"name the group reward first, or use a reward that scores each trajectory by itself")
		}
		c.info.Chain = append(c.info.Chain, info)
	}
	c.describe()
	return c, errors.Join(p...)
}

// describe sets the description of the chain: that of the first reward, with what it has in
// common with the others.
func (c *chain) describe() {
	all := c.info.Chain
	c.info = all[0]
	c.info.Chain, c.info.Refused = all, nil
	digest := sha256.New()
	for _, info := range all {
		fmt.Fprintf(digest, "%q\n", info.Digest)
		c.info.Refused = append(c.info.Refused, info.Refused...)
		c.info.InFlight = max(c.info.InFlight, info.InFlight)
		if info.StepIndexing != c.info.StepIndexing {
			c.info.StepIndexing = reward.ByAssistant
		}
		switch {
		case info.GroundTruth == reward.UseRead || c.info.GroundTruth == reward.UseRead:
			c.info.GroundTruth = reward.UseRead
		case info.GroundTruth == reward.UseUnknown:
			c.info.GroundTruth = reward.UseUnknown
		}
	}
	c.info.Digest = "sha256:" + hex.EncodeToString(digest.Sum(nil))
}

// Info implements reward.Scorer.
func (c *chain) Info() reward.Info { return c.info }

// Evaluate implements reward.Scorer.
func (c *chain) Evaluate(ctx context.Context, t *rl.Trajectory) reward.Evaluation {
	return c.otherwise(ctx, t, c.parts[0].Scorer.Evaluate(ctx, t))
}

// EvaluateGroup implements reward.GroupScorer: the first reward may compare the members.
func (c *chain) EvaluateGroup(ctx context.Context, members []*rl.Trajectory) []reward.Evaluation {
	first, ok := c.parts[0].Scorer.(reward.GroupScorer)
	if !ok {
		return nil // the pool calls this only if Info.Group is set
	}
	all := first.EvaluateGroup(ctx, members)
	if len(all) != len(members) {
		return all // the pool reports it
	}
	for i := range all {
		all[i] = c.otherwise(ctx, members[i], all[i])
	}
	return all
}

// otherwise completes the evaluation of the first reward.
func (c *chain) otherwise(ctx context.Context, t *rl.Trajectory, e reward.Evaluation) reward.Evaluation {
	e = c.aligned(0, t, e)
	var without []string
	for k := 1; k < len(c.parts) && !hasScore(e) && e.Fatal == nil; k++ {
		without = append(without, c.parts[k-1].Name+" has no score: "+why(e))
		e = c.joined(k, e, c.aligned(k, t, c.parts[k].Scorer.Evaluate(ctx, t)))
	}
	if len(without) > 0 {
		said := &e.Reason
		if e.Outcome == reward.Scored {
			said = &e.Result.Reason
		}
		*said = c.parts[len(without)].Name + ": " + cmp.Or(*said, "no reason") + "; " + strings.Join(without, "; ")
	}
	return c.decided(len(without), e)
}

// hasScore reports whether a reward need not be followed by the next one: it has a score, or
// failed.
func hasScore(e reward.Evaluation) bool {
	return e.Outcome != reward.Invalid && (e.Outcome != reward.Scored || e.Result.IsScoreValid)
}

// why returns why a reward has no score.
func why(e reward.Evaluation) string {
	return cmp.Or(e.Reason, e.Result.Reason, "the reward marked the score as invalid")
}

// joined adds to the evaluation of reward k what those before it used, logged and noted.
func (c *chain) joined(k int, before, e reward.Evaluation) reward.Evaluation {
	e.Fuel, e.Elapsed, e.Log = before.Fuel+e.Fuel, before.Elapsed+e.Elapsed, before.Log+e.Log
	notes := before.Notes
	for key, note := range e.Notes {
		if notes == nil {
			notes = map[string]json.RawMessage{}
		}
		name := c.parts[k].Name
		if key != "" {
			name += "/" + key
		}
		notes[name] = note
	}
	e.Notes = notes
	return e
}

// decided adds the metric that says that reward k gave the score.
func (c *chain) decided(k int, e reward.Evaluation) reward.Evaluation {
	if e.Outcome != reward.Scored || !e.Result.IsScoreValid {
		return e
	}
	if _, taken := e.Result.Metrics.Get(decidedBy); taken {
		e.Outcome, e.Reason = reward.ABIViolation, c.parts[k].Name+" has a metric "+decidedBy+", in which Merit notes which of the rewards gave the score; rename the metric"
		e.Result = rl.EvaluateResult{}
		return e
	}
	e.Result.Metrics = append(slices.Clip(e.Result.Metrics), rl.Metric{Name: decidedBy, Score: float64(k), IsScoreValid: true, Reason: c.parts[k].Name})
	return e
}

// aligned translates step outputs of reward k to the rule of the chain.
func (c *chain) aligned(k int, t *rl.Trajectory, e reward.Evaluation) reward.Evaluation {
	if c.info.Chain[k].StepIndexing == c.info.StepIndexing || len(e.Result.StepOutputs) == 0 {
		return e
	}
	assistant := t.AssistantIndex(nil)
	count := int(slices.Max(append(assistant, -1))) + 1
	steps := slices.Clone(e.Result.StepOutputs)
	for i, s := range steps {
		if problem := reward.ByMessage.Problem(int(s.StepIndex), t.Messages, t.Given(), count); problem != "" {
			e.Outcome, e.Reason = reward.Unaligned, fmt.Sprintf("%s: trajectory %s: %s", c.parts[k].Name, t.ID, problem)
			return e
		}
		steps[i].StepIndex = rl.StepIndex(assistant[s.StepIndex])
	}
	e.Result.StepOutputs = steps
	return e
}

// Asked implements reward.Asker: the questions of all rewards together.
func (c *chain) Asked() (total reward.Asked, asks bool) {
	for _, part := range c.parts {
		if a, ok := part.Scorer.(reward.Asker); ok {
			asked, one := a.Asked()
			total.Add(asked)
			asks = asks || one
		}
	}
	return total, asks
}

// members returns the rewards of a chain, or the part itself.
func members(part reward.Weighted) []reward.Weighted {
	if c, ok := part.Scorer.(*chain); ok {
		return c.parts
	}
	return []reward.Weighted{part}
}

// deciders returns the rewards of each chain by the metric that says which of them gave a
// score; nil if no part is a chain.
func deciders(parts []reward.Weighted) map[string][]string {
	var all map[string][]string
	for _, part := range reward.NewPool(parts, 1).Parts() {
		c, ok := part.Scorer.(*chain)
		if !ok {
			continue
		}
		if all == nil {
			all = map[string][]string{}
		}
		prefix := ""
		if len(parts) > 1 {
			prefix = part.Name + "/"
		}
		for _, one := range c.parts {
			all[prefix+decidedBy] = append(all[prefix+decidedBy], prefix+one.Name)
		}
	}
	return all
}
