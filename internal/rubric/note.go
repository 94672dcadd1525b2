package rubric

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode"

	"github.com/merit-rl/merit/internal/base/strictjson"
)

// maxNoted is the largest reason in a note, in bytes.
const maxNoted = 200

// Note is what a Scorer stores with each trajectory that it could judge, scored or not: the
// results of both rubrics for the outputs. The rubrics themselves are in the episode and in
// its task.
type Note struct {
	Written struct {
		Problem    string      `json:"problem,omitempty"` // why there is no written rubric
		Evaluation *Evaluation `json:"evaluation"`        // nil without a written rubric
	} `json:"written"`
	Truth struct {
		Evaluation *Evaluation `json:"evaluation"` // nil without outputs
	} `json:"truth"`
	Outputs int `json:"outputs"`
}

// note returns d with short reasons as JSON.
func (d *Dual) note() json.RawMessage {
	n := Note{Outputs: d.Outputs}
	n.Written.Problem, n.Written.Evaluation = d.Written.Problem, d.Written.Evaluation.short()
	n.Truth.Evaluation = d.Truth.Evaluation.short()
	text, err := json.Marshal(n)
	if err != nil {
		panic(err) // scores are finite, which settled ensures
	}
	return text
}

// short returns a copy of e with short reasons.
func (e *Evaluation) short() *Evaluation {
	if e == nil {
		return nil
	}
	out := &Evaluation{Totals: e.Totals, Criteria: append([]Result(nil), e.Criteria...)}
	for i := range out.Criteria {
		c := &out.Criteria[i]
		c.Verdicts = append([]Verdict(nil), c.Verdicts...)
		for o := range c.Verdicts {
			c.Verdicts[o].Reason = Clip(c.Verdicts[o].Reason, maxNoted)
		}
		if c.Empty != nil {
			empty := *c.Empty
			empty.Reason = Clip(empty.Reason, maxNoted)
			c.Empty = &empty
		}
	}
	return out
}

// ReadNote parses what a Scorer stored with a trajectory: the value under the reward's name, a
// slash and NoteKey in Trajectory.Notes.
func ReadNote(text json.RawMessage) (*Note, error) {
	n := new(Note)
	if err := strictjson.Unmarshal(text, n); err != nil {
		return nil, fmt.Errorf("not a note of a dual evaluation: %w", err)
	}
	return n, nil
}

// Clip makes untrusted text safe to print: valid UTF-8, without control characters except line
// breaks, and at most limit bytes.
func Clip(s string, limit int) string {
	cut := len(s) > limit
	s = strings.ToValidUTF8(s[:min(len(s), limit)], "")
	if cut {
		s += "…"
	}
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' {
			return ' '
		}
		return r
	}, s))
}
