package reward

// Result is the result of a reward for one rollout. Make one with Score, Invalid or
// Error, and set the other fields as needed.
type Result struct {
	Score   float64
	Invalid bool   // there is no valid score; Reason explains why
	Error   string // the reward itself failed; empty if it did not
	Reason  string
	Metrics []Metric
	Steps   []StepReward
}

// Metric is one named measurement in addition to the score.
type Metric struct {
	Name  string
	Value float64
}

// StepReward is the base reward of one step.
type StepReward struct {
	Index   int // among the assistant messages after the prompt, from 0
	Reward  float64
	Reason  string
	Metrics []Metric
}

// Score returns a valid result.
func Score(score float64) Result { return Result{Score: score} }

// Invalid returns a result without a score: the rollout does not count in the
// baseline, and training does not learn from it.
func Invalid(reason string) Result { return Result{Invalid: true, Reason: reason} }

// Error returns the result of a reward that failed.
func Error(err error) Result { return Result{Error: err.Error()} }

// BoolScore returns a score of 1 if ok is true, else 0.
func BoolScore(ok bool) Result {
	if ok {
		return Score(1)
	}
	return Score(0)
}
