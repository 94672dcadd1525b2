package learn

import (
	"fmt"

	"github.com/merit-rl/merit/core/advantage"
	"github.com/merit-rl/merit/core/align"
	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/rl"
)

// SamplesFrom makes samples of the steps of b with weight above 0 under r.
// Features and masks share memory with the steps; the text of an observation
// is the message before the action. It is an error if a step was not taken by
// an embedded policy.
func SamplesFrom(b *align.Batch, r *advantage.Result) (*Samples, error) {
	s := &Samples{}
	values := true
	for i, t := range b.Trajectories {
		for row := b.First[i]; row < b.First[i+1]; row++ {
			if r.Weight[row] == 0 {
				continue
			}
			step := b.Steps[row]
			if step.Policy == nil || step.Action.Kind != rl.ActionChoice || step.MessageCount < 1 || step.MessageCount > len(t.Messages) {
				return nil, &fault.Error{
					Boundary: fault.Learner, Kind: fault.Invalid, Where: fmt.Sprintf("trajectory %s, step %d", t.ID, step.Index),
					What: "the step was not taken by an embedded policy in this process",
					Hint: "learn from the trajectories of a rollout, not from files",
				}
			}
			s.Features = append(s.Features, step.Policy.Features)
			s.Text = append(s.Text, t.Messages[step.MessageCount-1].Content.Text())
			s.Mask = append(s.Mask, step.Policy.Mask)
			s.Action = append(s.Action, int32(step.Action.Choice))
			s.LogProb = append(s.LogProb, step.LogProb)
			s.LogitMax = append(s.LogitMax, step.Policy.LogitMax)
			s.Advantage = append(s.Advantage, r.Advantage[row])
			s.Weight = append(s.Weight, r.Weight[row])
			s.Return = append(s.Return, r.Return[row])
			if values = values && step.Value != nil; values {
				s.Value = append(s.Value, *step.Value)
			}
		}
	}
	if !values {
		s.Value = nil
	}
	return s, nil
}
