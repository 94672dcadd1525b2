package played

import (
	"context"
	"fmt"
	"os"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/fleet"
)

// Scoring is what a score shard asks for: to score trajectories that exist.
type Scoring struct {
	Job          fleet.Digest // by what they are scored
	Trajectories []*rl.Trajectory
}

// Shard returns the shard of a scoring. If content is not nil, the trajectories are
// too many bytes for a shard: content is to be Put, under the last of the needs.
func (o Scoring) Shard(index int) (s fleet.Shard, content []byte, err error) {
	text, err := encode(&o.Trajectories)
	if err != nil {
		return s, nil, err
	}
	s = fleet.Shard{Kind: fleet.Score, Index: index, Body: text, Needs: []fleet.Digest{o.Job}}
	switch {
	case len(text) > fleet.MaxResult:
		return s, nil, &fault.Error{
			Boundary: fault.Fleet, Kind: fault.Exhausted, Where: o.Trajectories[0].ID,
			What: fmt.Sprintf("the trajectories that are scored together have %d bytes, more than %d", len(text), fleet.MaxResult),
			Hint: "score them without a fleet, or make smaller groups",
		}
	case len(text) > fleet.MaxBody:
		s.Body, s.Needs = nil, append(s.Needs, fleet.DigestOfBytes(text))
		return s, text, nil
	}
	return s, nil, nil
}

// ReadScoring returns the scoring of a shard.
func ReadScoring(ctx context.Context, s fleet.Shard, contents fleet.Contents) (o Scoring, err error) {
	text := s.Body
	switch len(s.Needs) {
	case 1:
	case 2:
		path, err := contents.Path(ctx, s.Needs[1])
		if err != nil {
			return o, err
		}
		if text, err = readFile(path); err != nil {
			return o, err
		}
	default:
		return o, corrupt("scoring", fmt.Sprintf("it needs %d contents", len(s.Needs)))
	}
	if err := decode(text, &o.Trajectories); err != nil {
		return o, corrupt("scoring", err.Error())
	}
	for _, t := range o.Trajectories {
		if t == nil {
			return o, corrupt("scoring", "a trajectory is not there")
		}
	}
	o.Job = s.Needs[0]
	return o, nil
}

// readFile reads a content that was put beside a shard, unless it is larger than
// what may be packed there.
func readFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err == nil && info.Size() > fleet.MaxResult {
		err = corrupt("scoring", fmt.Sprintf("a content of %d bytes is more than a shard may have", info.Size()))
	}
	if err != nil {
		return nil, err
	}
	return os.ReadFile(path)
}

// EncodeScores writes the evaluations of a scoring, without the wall clock.
func EncodeScores(evaluations []reward.Evaluation) ([]byte, error) { return encode(&evaluations) }

// DecodeScores reads the evaluations of o. The error is of the kind Corrupt if body
// is no answer to o.
func DecodeScores(o Scoring, body []byte) (evaluations []reward.Evaluation, err error) {
	if err := decode(body, &evaluations); err != nil {
		return nil, corrupt("scores", err.Error())
	}
	if len(evaluations) != len(o.Trajectories) {
		return nil, corrupt("scores", fmt.Sprintf("there are %d for %d trajectories", len(evaluations), len(o.Trajectories)))
	}
	for i, t := range o.Trajectories {
		if err := checkEvaluation(t, evaluations[i]); err != nil {
			return nil, corrupt("scores", fmt.Sprintf("evaluation of %.80q: %s", t.ID, err))
		}
	}
	return evaluations, nil
}

// encode writes what pointer points at, compressed.
func encode(pointer any) ([]byte, error) {
	w := writers.Get().(*writer)
	defer writers.Put(w)
	w.reset()
	w.any(pointer)
	if w.err != nil {
		return nil, w.err
	}
	return pack(w.bytes)
}

// decode reads what encode wrote, all of it, into what pointer points at.
func decode(body []byte, pointer any) error {
	text, err := unpack(body)
	if err != nil {
		return err
	}
	r := reader{rest: text}
	r.any(pointer)
	if r.err == nil && len(r.rest) > 0 {
		r.fail("%d bytes follow its end", len(r.rest))
	}
	return r.err
}
