package rubric

import (
	"context"
	"fmt"

	"github.com/merit-rl/merit/core/reward"
)

// Verdict is what a rule says of one output.
type Verdict struct {
	// Outcome is reward.Scored, or why there is no score.
	Outcome reward.Outcome `json:"outcome"`
	// Score is from 0 to 1; nil unless Outcome is reward.Scored.
	Score *float64 `json:"score"`
	// Reason is the rule's own, or why there is no score: untrusted text, capped
	// and escaped.
	Reason string `json:"reason,omitempty"`
	Fuel   uint64 `json:"fuel,omitempty"` // deterministic cost; 0 for questions
	// Fatal is set where no question will be answered any more, as in
	// reward.Evaluation.
	Fatal error `json:"-"`
}

// Unavailable reports whether there is no verdict for now, by the fault of what
// applies the rule and not of the rule: another time there may be one.
func (v Verdict) Unavailable() bool {
	return v.Outcome == reward.Infrastructure || v.Outcome == reward.Timeout
}

// settled makes sure that Scored means a score from 0 to 1, and nothing else
// does.
func (v Verdict) settled() Verdict {
	switch {
	case v.Outcome != reward.Scored:
		v.Score = nil
	case v.Score == nil || !(*v.Score >= 0 && *v.Score <= 1):
		v.Outcome, v.Score, v.Reason = reward.ABIViolation, nil, "there is no score from 0 to 1"
	}
	return v
}

// stopped is what one gets who is stopped before there is a verdict.
func stopped(ctx context.Context) Verdict {
	return Verdict{Outcome: reward.Infrastructure, Reason: fmt.Sprint("stopped: ", context.Cause(ctx))}
}

// Checker applies rules. It is safe for concurrent use. A verdict is a function
// of the rule, the task, the inputs and the one output: others are not seen.
type Checker interface {
	// Digest covers all that decides verdicts but the rule and the workflow.
	Digest() string
	// Check applies r to output i of w.
	Check(ctx context.Context, r Rule, w *Workflow, i int) Verdict
}

// Evaluation is what a rubric says of the outputs of a workflow.
type Evaluation struct {
	// Totals are the weighted preference totals, by output; nil for an output of
	// which some criterion has no score.
	Totals   []*float64 `json:"totals"`
	Criteria []Result   `json:"criteria"` // in the order of the rubric
}

// Failure is a verdict without a score, with its place.
type Failure struct {
	Criterion string
	Output    int // from 0; -1 is the output without any text
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

// Fuel is what all verdicts have used, or had used when they were found out.
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

// Result is what one criterion came to.
type Result struct {
	Name     string    `json:"name"`
	Weight   float64   `json:"weight"`
	Verdicts []Verdict `json:"verdicts"` // by output
	// Constant says that all outputs have the same score: the criterion tells
	// nothing apart.
	Constant bool `json:"constant,omitempty"`
	// Vacuous says that all outputs have the same score above 0, and so has an
	// output without any text: the criterion always holds.
	Vacuous bool `json:"vacuous,omitempty"`
	// Empty is the verdict about an output without any text; nil unless Constant
	// holds over several outputs.
	Empty *Verdict `json:"empty,omitempty"`
}

// Dual is what the reward module gets as its ground truth: both rubrics and
// what they say of the same outputs. Written.Evaluation is nil if there is no
// written rubric.
type Dual struct {
	Written struct {
		Written
		Evaluation *Evaluation `json:"evaluation"`
	} `json:"written"`
	Truth struct {
		Rubric     *Rubric     `json:"rubric"`
		Evaluation *Evaluation `json:"evaluation"`
	} `json:"truth"`
	Outputs int `json:"outputs"` // how many were judged
}
