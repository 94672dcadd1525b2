package reward

import (
	"context"

	"github.com/merit-rl/merit/core/rl"
)

// Environment is the reward that the environment itself gives: the score of a
// trajectory is the sum of Step.EnvReward, and the base reward of each step is its
// own.
type Environment struct{}

// Info implements Scorer.
func (Environment) Info() Info {
	return Info{
		Name: "environment", Digest: "builtin:environment/1", ABI: "builtin", StepIndexing: ByMessage, GroundTruth: UseIgnored,
	}
}

// Evaluate implements Scorer. A trajectory without steps, such as one from a file
// of conversations, was not played in an environment and has no score.
func (Environment) Evaluate(_ context.Context, t *rl.Trajectory) Evaluation {
	if len(t.Steps) == 0 {
		return Evaluation{Outcome: Invalid, Reason: "the trajectory has no steps, so it has no reward from an environment"}
	}
	result := rl.EvaluateResult{IsScoreValid: true, StepOutputs: make([]rl.StepOutput, len(t.Steps))}
	for i := range t.Steps {
		s := &t.Steps[i]
		result.Score += s.EnvReward
		result.StepOutputs[i] = rl.StepOutput{StepIndex: rl.StepIndex(s.MessageCount), BaseReward: s.EnvReward}
	}
	return Evaluation{Outcome: Scored, Result: result}
}
