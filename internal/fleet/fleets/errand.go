package fleets

import (
	"bytes"
	"context"
	"fmt"
	"sync"

	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/fleet"
	"github.com/merit-rl/merit/internal/fleet/played"
)

// errand is a call of EvaluateAll under way.
type errand struct {
	*Scorer
	all    []*rl.Trajectory
	tell   func(i int, e reward.Evaluation)
	out    []reward.Evaluation
	places chan struct{} // one for each result that is read now

	mutex sync.Mutex
	again []*parcel // those to be submitted once more
}

// parcel is what a shard has: whole units, each a trajectory or the members of one
// group.
type parcel struct {
	units   [][]int // positions in the trajectories
	not     string  // who must not score it
	refused int     // answers that were none
}

// Bounds of a parcel of more than one unit.
const (
	parcelTrajectories = 64
	parcelBytes        = 4 << 20 // of text
)

// cut makes parcels of units that stand together.
func (e *errand) cut() (all []*parcel) {
	var units [][]int
	order, ends := e.pool.Units(e.all)
	from := 0
	for _, to := range ends {
		units = append(units, order[from:to])
		from = to
	}
	p, n, size := &parcel{}, 0, 0
	for _, unit := range units {
		text := 0
		for _, i := range unit {
			text += length(e.all[i])
		}
		if n > 0 && (n+len(unit) > parcelTrajectories || size+text > parcelBytes) {
			all = append(all, p)
			p, n, size = &parcel{}, 0, 0
		}
		p.units, n, size = append(p.units, unit), n+len(unit), size+text
	}
	return append(all, p)
}

// length is about how many bytes t has.
func length(t *rl.Trajectory) int {
	n := len(t.GroundTruth)
	for _, m := range t.Messages {
		n += len(m.Content.Text()) + len(m.Content.Parts())
	}
	for _, v := range t.Metadata {
		n += len(v)
	}
	return n
}

// scoring is what a parcel asks for.
func (e *errand) scoring(p *parcel) played.Scoring {
	o := played.Scoring{Job: e.job}
	for _, unit := range p.units {
		for _, i := range unit {
			o.Trajectories = append(o.Trajectories, e.all[i])
		}
	}
	return o
}

// submit has parcels scored once.
func (e *errand) submit(ctx context.Context, open []*parcel) (err error) {
	name, err := e.name(open)
	if err != nil {
		return err
	}
	var failed error
	shards := func(yield func(fleet.Shard) bool) {
		for i, p := range open {
			var shard fleet.Shard
			if shard, failed = e.shard(ctx, i, p); failed != nil || !yield(shard) {
				return
			}
		}
	}
	var reading sync.WaitGroup
	defer reading.Wait()
	for r, err := range e.fleet.Submit(ctx, name, shards) {
		if failed != nil {
			return failed
		}
		if err != nil {
			return err
		}
		e.counted(r)
		e.places <- struct{}{}
		reading.Go(func() {
			defer func() { <-e.places }()
			e.take(ctx, open[r.Index], r)
		})
	}
	return failed
}

// name is the name of a Submit: who asks again after a crash finds what is there,
// and nobody takes back what others ask for.
func (e *errand) name(open []*parcel) (string, error) {
	first, _, err := e.scoring(open[0]).Shard(0)
	if err != nil {
		return "", err
	}
	text := fmt.Appendf(nil, "%s %s %x %d", e.job, first.Needs, fleet.DigestOfBytes(first.Body), len(open))
	for _, p := range open {
		text = fmt.Appendf(text, " %q %q %d", e.all[p.units[0][0]].ID, p.not, p.refused)
	}
	return "score-" + fleet.DigestOfBytes(text).Hex()[:32], nil
}

// shard is the shard of a parcel, whose content is put.
func (e *errand) shard(ctx context.Context, i int, p *parcel) (fleet.Shard, error) {
	s, content, err := e.scoring(p).Shard(i)
	if err == nil && content != nil {
		err = e.fleet.Put(ctx, s.Needs[len(s.Needs)-1], int64(len(content)), bytes.NewReader(content))
	}
	s.Not = p.not
	return s, err
}

// take files the result of a parcel. One that is lost as a whole is tried unit by
// unit, so that no trajectory is without a score because of another.
func (e *errand) take(ctx context.Context, p *parcel, r fleet.Result) {
	err := r.Err
	var scores []reward.Evaluation
	if err == nil {
		if scores, err = played.DecodeScores(e.scoring(p), r.Body); err != nil {
			e.blame(ctx, r.Worker, err)
			if p.refused++; p.refused < rounds {
				p.not = r.Worker
				e.repeat(p)
				return
			}
		}
	}
	switch {
	case err == nil:
	case len(p.units) > 1:
		for _, unit := range p.units {
			e.repeat(&parcel{units: [][]int{unit}})
		}
		return
	default:
		e.log.WarnContext(ctx, "workers cannot score it", "trajectory", e.all[p.units[0][0]].ID, "trajectories", len(p.units[0]), "cause", err)
		scores = make([]reward.Evaluation, len(p.units[0]))
		for k := range scores {
			scores[k] = reward.Evaluation{Outcome: reward.Infrastructure, Reason: fmt.Sprintf("%.300s", "the fleet could not score it: "+err.Error())}
		}
	}
	k := 0
	for _, unit := range p.units {
		for _, i := range unit {
			e.out[i] = scores[k]
			e.tell(i, scores[k])
			k++
		}
	}
}

func (e *errand) repeat(p *parcel) {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	e.again = append(e.again, p)
}
