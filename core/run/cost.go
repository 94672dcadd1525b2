package run

import "github.com/merit-rl/merit/internal/base/cost"

// Cost is what a run or an iteration used besides time, by stage. Fuel is the same
// whenever the run is repeated; what language models used is not, because answers
// are cached.
type Cost struct {
	Check    Spent `json:"check,omitzero"`    // of checking the reward before the run
	Collect  Spent `json:"collect,omitzero"`  // of playing: the answers of the policy, and environments that are modules
	Score    Spent `json:"score,omitzero"`    // of scoring: rewards, judges and rubrics
	Validate Spent `json:"validate,omitzero"` // of validation: playing and scoring
	Test     Spent `json:"test,omitzero"`     // of the final evaluations
}

// Spent is what a stage used.
type Spent struct {
	Fuel   uint64      `json:"fuel,omitempty"`   // fuel of rewards, and of environments that are modules
	Models cost.Models `json:"models,omitempty"` // by the name of the language model
}

// Plus returns the sum of s and other.
func (s Spent) Plus(other Spent) Spent {
	return Spent{s.Fuel + other.Fuel, s.Models.Plus(other.Models)}
}

// Plus returns the sum of c and other.
func (c Cost) Plus(other Cost) Cost {
	return Cost{
		c.Check.Plus(other.Check), c.Collect.Plus(other.Collect), c.Score.Plus(other.Score),
		c.Validate.Plus(other.Validate), c.Test.Plus(other.Test),
	}
}

// Total returns the sum of the stages.
func (c Cost) Total() Spent {
	return c.Check.Plus(c.Collect).Plus(c.Score).Plus(c.Validate).Plus(c.Test)
}

// CPU is the CPU time of a run or an iteration, by stage: of Merit, of the plug-ins and workers
// that it started on this machine, and of the workers of a fleet, as they report it.
type CPU struct {
	Check     float64 `json:"check,omitempty"` // CPU seconds of checking the reward before the run
	Collect   float64 `json:"collect"`         // CPU seconds of playing episodes
	Score     float64 `json:"score"`           // CPU seconds of scoring, if it is not part of playing
	Advantage float64 `json:"advantage"`       // CPU seconds of aligning step outputs and of estimating advantages
	Update    float64 `json:"update"`          // CPU seconds of the update
	Record    float64 `json:"record"`          // CPU seconds of writing the iteration
	Validate  float64 `json:"validate"`        // CPU seconds of the validation
	Test      float64 `json:"test,omitempty"`  // CPU seconds of the final evaluations
}

// Plus returns the sum of c and other.
func (c CPU) Plus(other CPU) CPU {
	return CPU{
		c.Check + other.Check, c.Collect + other.Collect, c.Score + other.Score, c.Advantage + other.Advantage,
		c.Update + other.Update, c.Record + other.Record, c.Validate + other.Validate, c.Test + other.Test,
	}
}

// Total returns the sum of the stages.
func (c CPU) Total() float64 {
	return c.Check + c.Collect + c.Score + c.Advantage + c.Update + c.Record + c.Validate + c.Test
}

// Repeated is what a run used for work that no checkpoint kept, so that it was done
// again after an interruption, or still has to be.
type Repeated struct {
	Seconds float64 `json:"seconds"` // wall clock
	CPU     float64 `json:"cpu"`     // CPU seconds
	Cost    Cost    `json:"cost,omitzero"`
}

// plus returns the sum of r and other.
func (r Repeated) plus(other Repeated) Repeated {
	return Repeated{r.Seconds + other.Seconds, r.CPU + other.CPU, r.Cost.Plus(other.Cost)}
}
