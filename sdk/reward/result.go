package reward

// Result is what a reward says about one rollout. Score, Invalid and Error
// make one; the other fields are filled in as needed.
type Result struct {
	Score   float64
	Invalid bool   // there is no valid score; Reason says why
	Error   string // the reward itself failed; empty if it did not
	Reason  string
	Metrics []Metric
	Steps   []StepReward
}

// Metric is one named measurement beside the score.
type Metric struct {
	Name  string
	Value float64
}

// StepReward is the base reward of one step.
type StepReward struct {
	Index   int // among the assistant messages behind the prompt, from 0
	Reward  float64
	Reason  string
	Metrics []Metric
}

// Score returns a valid result.
func Score(score float64) Result { return Result{Score: score} }

// Invalid returns a result without a score: the rollout leaves the baseline
// and is not learnt from.
func Invalid(reason string) Result { return Result{Invalid: true, Reason: reason} }

// Error returns the result of a reward that failed.
func Error(err error) Result { return Result{Error: err.Error()} }

// BoolScore returns a score of 1 or 0.
func BoolScore(ok bool) Result {
	if ok {
		return Score(1)
	}
	return Score(0)
}
