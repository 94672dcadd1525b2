package rubric

import (
	"context"
	"fmt"

	"github.com/merit-rl/merit/core/reward"
)

// Verdict is the result of a rule for one output.
type Verdict struct {
	// Outcome is reward.Scored, or why there is no score.
	Outcome reward.Outcome `json:"outcome"`
	// Score is from 0 to 1; nil unless Outcome is reward.Scored.
	Score *float64 `json:"score"`
	// Reason is the rule's own, or says why there is no score: untrusted text, limited in size
	// and escaped.
	Reason string `json:"reason,omitempty"`
	Fuel   uint64 `json:"fuel,omitempty"` // deterministic cost; 0 for questions
	// Fatal is set if no further question will be answered, as in reward.Evaluation.
	Fatal error `json:"-"`
}

// Unavailable reports whether a verdict is temporarily missing because of the checker and not
// the rule: a later attempt may succeed.
func (v Verdict) Unavailable() bool {
	return v.Outcome == reward.Infrastructure || v.Outcome == reward.Timeout
}

// settled ensures that the outcome is Scored exactly if there is a score from 0 to 1.
func (v Verdict) settled() Verdict {
	switch {
	case v.Outcome != reward.Scored:
		v.Score = nil
	case v.Score == nil || !(*v.Score >= 0 && *v.Score <= 1):
		v.Outcome, v.Score, v.Reason = reward.ABIViolation, nil, "there is no score from 0 to 1"
	}
	return v
}

// stopped returns the verdict of a rule that was canceled.
func stopped(ctx context.Context) Verdict {
	return Verdict{Outcome: reward.Infrastructure, Reason: fmt.Sprint("stopped: ", context.Cause(ctx))}
}

// Checker applies rules. It is safe for concurrent use. A verdict is a function of the rule,
// the task, the inputs and the one output; other outputs are invisible.
type Checker interface {
	// Digest covers everything that determines verdicts except the rule and the workflow.
	Digest() string
	// Check applies r to output i of w.
	Check(ctx context.Context, r Rule, w *Workflow, i int) Verdict
}

// Evaluation is the result of a rubric for the outputs of a workflow.
type Evaluation struct {
	// Totals are the weighted preference totals, by output; nil for an output if a criterion
	// has no score for it.
	Totals   []*float64 `json:"totals"`
	Criteria []Result   `json:"criteria"` // in the order of the rubric
}

// Failure is a verdict without a score, with its location.
type Failure struct {
	Criterion string
	Output    int // from 0; -1 is the output without text
	Verdict
}

// String says what failed, where and why.
func (f Failure) String() string {
	of := fmt.Sprintf("output %d", f.Output+1)
	if f.Output < 0 {
		of = "an output without text"
	}
	return fmt.Sprintf("criterion %q on %s: %s: %s", f.Criterion, of, f.Outcome, f.Reason)
}

// Failures returns the verdicts without a score, criterion by criterion.
func (e *Evaluation) Failures() (list []Failure) {
	for _, c := range e.Criteria {
		for o, v := range c.Verdicts {
			if v.Score == nil {
				list = append(list, Failure{c.Name, o, v})
			}
		}
		if c.Empty != nil && c.Empty.Score == nil {
			list = append(list, Failure{c.Name, -1, *c.Empty})
		}
	}
	return list
}

// Fuel returns the fuel of all verdicts, including the original cost of cached ones.
func (e *Evaluation) Fuel() (sum uint64) {
	for _, c := range e.Criteria {
		for _, v := range c.Verdicts {
			sum += v.Fuel
		}
		if c.Empty != nil {
			sum += c.Empty.Fuel
		}
	}
	return sum
}

// Result is the result of one criterion.
type Result struct {
	Name     string    `json:"name"`
	Weight   float64   `json:"weight"`
	Verdicts []Verdict `json:"verdicts"` // by output
	// Constant says that all outputs have the same score, so that the criterion does not
	// distinguish them.
	Constant bool `json:"constant,omitempty"`
	// Vacuous says that all outputs, and an output without any text, have the same score above
	// 0: the criterion always holds.
	Vacuous bool `json:"vacuous,omitempty"`
	// Empty is the verdict about an output without any text; nil unless Constant is true for
	// several outputs.
	Empty *Verdict `json:"empty,omitempty"`
}

// Dual is the ground truth of the reward module: both rubrics and their results for the same
// outputs. Written.Evaluation is nil if there is no written rubric.
type Dual struct {
	Written struct {
		Written
		Evaluation *Evaluation `json:"evaluation"`
	} `json:"written"`
	Truth struct {
		Rubric     *Rubric     `json:"rubric"`
		Evaluation *Evaluation `json:"evaluation"`
	} `json:"truth"`
	Outputs int `json:"outputs"` // number of judged outputs
}
