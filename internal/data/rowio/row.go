package rowio

import (
	"bytes"
	"fmt"
	"math"
	"strconv"

	"github.com/merit-rl/merit/internal/base/jsonspan"
)

// row is one parsed line.
type row struct {
	group, trajectory, anchor []byte // subslices of the line, unless escaped
	observation               []byte
	step                      int32
	iteration                 int32 // noIteration, or wrongIteration if it is not a number
	reward, score             float64
	value, bootstrap          float64
	role                      []byte
	greedy                    float64
	logProb                   float64
	left                      []byte // branch_of
	at                        int32  // branch_at
	rewards                   []judged
	scored                    bool
	valid                     bool
	terminated, truncated     bool

	has    fields   // given
	null   fields   // given as null
	wrong  []string // problems of the values
	noName bool     // group, trajectory or step is unknown
}

// fields is a set of the fields with a meaning.
type fields uint32

const (
	fieldGroup fields = 1 << iota
	fieldTrajectory
	fieldStep
	fieldObservation
	fieldReward
	fieldScore
	fieldAnchor
	fieldScored
	fieldValid
	fieldValue
	fieldBootstrap
	fieldTerminated
	fieldTruncated
	fieldRole
	fieldGreedy
	fieldRewards
	fieldResult // any of the fields that Write adds
	fieldIteration
	fieldLogProb
	fieldBranchOf
	fieldBranchAt
)

var required = [...]struct {
	field fields
	name  string
}{
	{fieldGroup, "group"}, {fieldTrajectory, "trajectory"}, {fieldStep, "step"},
	{fieldObservation, "observation"}, {fieldReward, "reward"}, {fieldScore, "episode_score"},
}

// fieldOf returns the field of a key, 0 for one that passes through.
func fieldOf(key []byte) fields {
	switch string(key) {
	case "group":
		return fieldGroup
	case "trajectory":
		return fieldTrajectory
	case "step":
		return fieldStep
	case "observation":
		return fieldObservation
	case "reward":
		return fieldReward
	case "episode_score":
		return fieldScore
	case "anchor":
		return fieldAnchor
	case "scored":
		return fieldScored
	case "valid":
		return fieldValid
	case "value":
		return fieldValue
	case "bootstrap":
		return fieldBootstrap
	case "terminated":
		return fieldTerminated
	case "truncated":
		return fieldTruncated
	case "role":
		return fieldRole
	case "greedy_score":
		return fieldGreedy
	case "rewards":
		return fieldRewards
	case "iteration":
		return fieldIteration
	case "log_prob":
		return fieldLogProb
	case "branch_of":
		return fieldBranchOf
	case "branch_at":
		return fieldBranchAt
	case "return", "episode_advantage", "step_advantage", "advantage", "anchor_group", "advantage_weight":
		return fieldResult
	}
	return 0
}

// What iteration is if it is not a number from 0.
const (
	noIteration    = -1
	wrongIteration = -2
)

// parse parses the fields of line into r, and replaces its content.
func (r *row) parse(line []byte, ms []jsonspan.Member) {
	*r = row{valid: true, scored: true, iteration: noIteration, greedy: math.NaN(), logProb: math.NaN(), rewards: r.rewards[:0], wrong: r.wrong[:0]}
	for _, m := range ms {
		key := line[m.KeyStart+1 : m.KeyEnd-1]
		if bytes.IndexByte(key, '\\') >= 0 {
			key = jsonspan.Text(line[m.KeyStart:m.KeyEnd])
		}
		f := fieldOf(key)
		if f == 0 || f == fieldResult {
			r.has |= f
			continue
		}
		if f == fieldIteration { // for tigpo only: elsewhere it may be anything
			value := string(line[m.ValueStart:m.End])
			if x, err := strconv.ParseFloat(value, 64); err == nil && x >= 0 && x <= math.MaxInt32 && x == math.Trunc(x) {
				r.iteration = int32(x) // tables with gaps have 2.0 for 2
			} else if value != "null" {
				r.iteration = wrongIteration
			}
			continue
		}
		if r.has&f != 0 {
			r.fail("%s is given twice", key)
			continue
		}
		r.has |= f
		r.set(f, key, line[m.ValueStart:m.End])
	}
	for _, q := range required {
		if r.has&q.field == 0 {
			r.fail("%s is missing", q.name)
		}
	}
	const name = fieldGroup | fieldTrajectory | fieldStep
	r.noName = r.noName || r.has&name != name || r.null&name != 0
	r.settle()
}

func (r *row) fail(format string, args ...any) {
	r.wrong = append(r.wrong, fmt.Sprintf(format, args...))
}

// settle checks the relations between fields.
func (r *row) settle() {
	if r.null&fieldScore != 0 {
		if r.has&fieldScored != 0 && r.null&fieldScored == 0 && r.scored {
			r.fail("episode_score is null although scored is true")
		}
		r.scored = false
	}
	r.settleRewards()
	if given := r.has &^ r.null; given&fieldBranchOf == 0 && given&fieldBranchAt != 0 {
		r.fail("branch_at is given without branch_of")
	} else if given&fieldBranchOf != 0 && given&fieldBranchAt == 0 {
		r.fail("branch_of is given without branch_at")
	}
	if r.null&fieldReward != 0 && r.scored {
		r.fail("reward is null although the trajectory has a score")
	}
	if r.has&fieldAnchor == 0 || r.null&fieldAnchor != 0 {
		r.anchor = r.observation
	}
}

func (r *row) set(f fields, key, raw []byte) {
	if string(raw) == "null" || f == fieldBranchOf && string(raw) == `""` { // tables have an empty text for none
		r.null |= f
		if f&(fieldGroup|fieldTrajectory|fieldStep|fieldObservation) != 0 {
			r.fail("%s is null", key)
		}
		return
	}
	switch f {
	case fieldGroup:
		r.group = r.name(key, raw)
	case fieldTrajectory:
		r.trajectory = r.name(key, raw)
	case fieldStep:
		r.step = r.index(key, raw)
	case fieldObservation:
		r.observation = r.text(key, raw)
	case fieldAnchor:
		r.anchor = r.text(key, raw)
	case fieldReward:
		r.reward = r.number(key, raw)
	case fieldScore:
		r.score = r.number(key, raw)
	case fieldValue:
		r.value = r.number(key, raw)
	case fieldBootstrap:
		r.bootstrap = r.number(key, raw)
	case fieldScored:
		r.scored = r.truth(key, raw)
	case fieldValid:
		r.valid = r.truth(key, raw)
	case fieldTerminated:
		r.terminated = r.truth(key, raw)
	case fieldTruncated:
		r.truncated = r.truth(key, raw)
	case fieldRole:
		r.role = r.text(key, raw)
	case fieldGreedy:
		r.greedy = r.number(key, raw)
	case fieldRewards:
		r.judge(raw)
	case fieldLogProb:
		r.logProb = r.number(key, raw)
	case fieldBranchOf:
		r.left = r.name(key, raw)
	case fieldBranchAt:
		r.at = r.index(key, raw)
	}
}

func (r *row) text(key, raw []byte) []byte {
	if raw[0] != '"' {
		r.fail("%s is not a string", key)
		return nil
	}
	return jsonspan.Text(raw)
}

func (r *row) name(key, raw []byte) []byte {
	if raw[0] == '"' {
		return jsonspan.Text(raw)
	}
	if _, err := strconv.ParseInt(string(raw), 10, 64); err != nil {
		r.fail("%s is neither a string nor an integer", key)
		r.noName = true
	}
	return raw
}

func (r *row) index(key, raw []byte) int32 {
	n, err := strconv.ParseInt(string(raw), 10, 32)
	if err != nil || n < 0 {
		r.fail("%s is not an integer from 0 to %d", key, math.MaxInt32)
		r.noName = true
		return 0
	}
	return int32(n)
}

func (r *row) number(key, raw []byte) float64 {
	if raw[0] != '-' && (raw[0] < '0' || raw[0] > '9') {
		r.fail("%s is not a number", key)
		return 0
	}
	x, err := strconv.ParseFloat(string(raw), 64)
	if err != nil {
		r.fail("%s is not finite", key)
		return 0
	}
	return x
}

func (r *row) truth(key, raw []byte) bool {
	if raw[0] != 't' && raw[0] != 'f' {
		r.fail("%s is neither true nor false", key)
	}
	return raw[0] == 't'
}
