package fleet

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/fleet/queue"
	"github.com/merit-rl/merit/internal/fleet/shardcodec"
)

// batch is one running call of EvaluateAll.
type batch struct {
	*Scorer
	all  []*rl.Trajectory
	tell func(i int, e reward.Evaluation)
	out  []reward.Evaluation

	mutex sync.Mutex
	alone []chunk // units of failed multi-unit chunks, to be sent alone
}

// chunk holds the units of one shard. A unit is a single trajectory or all members of one
// group, as indexes into the trajectories.
type chunk [][]int

// Limits of a chunk that has more than one unit.
const (
	chunkTrajectories = 64
	chunkBytes        = 4 << 20 // of text
)

// cut groups consecutive units into chunks.
func (e *batch) cut() (all []chunk) {
	var units [][]int
	order, ends := e.pool.Units(e.all)
	from := 0
	for _, to := range ends {
		units = append(units, order[from:to])
		from = to
	}
	p, n, size := chunk(nil), 0, 0
	for _, unit := range units {
		text := 0
		for _, i := range unit {
			text += length(e.all[i])
		}
		if n > 0 && (n+len(unit) > chunkTrajectories || size+text > chunkBytes) {
			all = append(all, p)
			p, n, size = nil, 0, 0
		}
		p, n, size = append(p, unit), n+len(unit), size+text
	}
	return append(all, p)
}

// length returns the approximate size of t in bytes.
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

// scoring returns the order for a chunk.
func (e *batch) scoring(p chunk) shardcodec.Scoring {
	o := shardcodec.Scoring{Job: e.job.Digest}
	for _, i := range slices.Concat(p...) {
		o.Trajectories = append(o.Trajectories, e.all[i])
	}
	return o
}

// submit sends chunks to the fleet and handles their results.
func (e *batch) submit(ctx context.Context, open []chunk) error {
	name, err := e.name(open)
	if err != nil {
		return err
	}
	return e.each(ctx, name, len(open), func(i int) (queue.Shard, error) { return e.scoring(open[i]).Shard(e.job) }, func(i int, r queue.Result) {
		e.take(ctx, open[i], r)
	})
}

// name returns the job name for Submit. It is a hash of what is asked for, so that a retry
// after a crash finds existing results and never touches those of other requests.
func (e *batch) name(open []chunk) (string, error) {
	first, err := e.scoring(open[0]).Shard(e.job)
	if err != nil {
		return "", err
	}
	text := fmt.Appendf(nil, "%s %d", queue.DigestOfBytes(first.Body), len(open))
	for _, c := range first.Needs {
		text = fmt.Appendf(text, " %s", c.Digest)
	}
	for _, p := range open {
		text = fmt.Appendf(text, " %q", e.all[p[0][0]].ID)
	}
	return "score-" + queue.DigestOfBytes(text).Hex()[:32], nil
}

// take stores the result of a chunk. If a chunk of several units fails, each unit becomes a
// chunk, so that a trajectory never goes unscored because of another.
func (e *batch) take(ctx context.Context, p chunk, r queue.Result) {
	err := r.Err
	scores, there := r.Value.([]reward.Evaluation)
	if err == nil && !there {
		scores, err = shardcodec.DecodeScores(e.scoring(p), r.Body)
	}
	if err != nil && len(p) > 1 {
		e.mutex.Lock()
		defer e.mutex.Unlock()
		for _, unit := range p {
			e.alone = append(e.alone, chunk{unit})
		}
		return
	}
	if err != nil {
		e.log.WarnContext(ctx, "no worker could score the trajectories", "trajectory", e.all[p[0][0]].ID, "trajectories", len(p[0]), "cause", err)
		scores = slices.Repeat([]reward.Evaluation{{Outcome: reward.Infrastructure, Reason: fmt.Sprintf("%.300s", "the fleet could not score it: "+err.Error())}}, len(p[0]))
	}
	for k, i := range slices.Concat(p...) {
		e.out[i] = scores[k]
		e.tell(i, scores[k])
	}
}
