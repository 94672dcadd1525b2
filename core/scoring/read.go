package scoring

import (
	"errors"
	"io"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/base/strictjson"
	"github.com/merit-rl/merit/internal/data/jsonl"
)

// ReadResults reads the results that a Run wrote into memory. The error is a
// *fault.Error that names the line.
func ReadResults(in *jsonl.Reader) (all []Result, err error) {
	for {
		l, err := in.Line()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		if in.Foreign() {
			t, err := in.Trajectory(l)
			if err != nil {
				return nil, err
			}
			all = append(all, given(t))
			continue
		}
		text, err := in.Row(l)
		if err != nil {
			return nil, err
		}
		var r Result
		err = strictjson.Unmarshal(text, &r)
		if what := r.problem(); err != nil || what != "" {
			return nil, &fault.Error{
				Boundary: fault.Data, Kind: fault.Invalid, Where: in.At(l.Number), What: "is not a result: " + what, Err: err,
				Hint: "give a results file that an evaluation wrote",
			}
		}
		all = append(all, r)
	}
}

// given returns the result that another tool stored with a trajectory.
func given(t *rl.Trajectory) Result {
	r := Result{ID: t.ID, Outcome: reward.Outcome(t.Outcome)}
	switch e := t.Evaluation; {
	case e == nil:
		r.Outcome, r.Reason = reward.Invalid, "the file has no score"
	case r.Outcome == reward.Scored:
		r.Score = &e.Score
		fallthrough
	default:
		r.Metrics, r.Reason, r.StepOutputs = e.Metrics, e.Reason, e.StepOutputs
	}
	return r
}

// problem returns why r is not a valid result, or "".
func (r *Result) problem() string {
	switch {
	case r.ID == "" || r.Outcome == "":
		return "it has no id or no outcome"
	case (r.Outcome == reward.Scored) != (r.Score != nil):
		return "it has a score, but its outcome is not \"scored\", or the reverse"
	}
	return ""
}
