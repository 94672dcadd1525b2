package learn

import (
	"sync"
	"sync/atomic"

	"github.com/merit-rl/merit/core/learn/internal/graph"
	"github.com/merit-rl/merit/core/learn/internal/loss"
	"github.com/merit-rl/merit/core/processors"
	"github.com/merit-rl/merit/core/rl"
)

// maxShardRows is the most rows of one graph. At this size gonum's products
// start no goroutines of their own for layers up to 64 wide, a graph is
// nearly as fast for each row as a larger one, and shards are what runs in
// parallel.
const maxShardRows = 192

// minShardRows keeps gorgonia from treating a matrix as a vector.
const minShardRows = 2

// shardRows returns the rows of a graph for minibatches of that size: shards
// of equal size, so that little is padding.
func shardRows(minibatch int) int {
	shards := (minibatch + maxShardRows - 1) / maxShardRows
	return max(minShardRows, (minibatch+shards-1)/shards)
}

// shuffle returns 0 … n−1 in an order that seed decides (Fisher and Yates).
func shuffle(n int, seed rl.Seed) []int {
	order := make([]int, n)
	for i := range order {
		j := int(seed.Child(uint64(i)).Uniform() * float64(i+1))
		order[i], order[j] = order[j], i
	}
	return order
}

// split cuts order into the fewest parts of at most size rows, which differ by
// one row at most: a short last minibatch would weigh its rows more.
func split(order []int, size int) [][]int {
	parts := make([][]int, (len(order)+size-1)/size)
	for i := range parts {
		parts[i] = order[i*len(order)/len(parts) : (i+1)*len(order)/len(parts)]
	}
	return parts
}

// gradient returns the gradient of a minibatch's mean objective, valid until
// the next call, and adds what it saw to sums. Shards run on all processors
// and are summed in their order, so the result does not depend on how many
// there are.
func (l *Learner) gradient(b *batch, minibatch []int, sums *sums) ([]float32, error) {
	shards := (len(minibatch) + l.shardRows - 1) / l.shardRows
	if err := l.grow(shards); err != nil {
		return nil, err
	}
	errs := make([]error, shards)
	var next atomic.Int64
	var lanes sync.WaitGroup
	for _, g := range l.lanes[:min(shards, processors.Count())] {
		lanes.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= shards {
					return
				}
				rows := minibatch[i*l.shardRows : min(len(minibatch), (i+1)*l.shardRows)]
				b.fill(g.Rows, rows, 1/float64(len(minibatch)))
				errs[i] = g.Run(l.shards[i])
			}
		})
	}
	lanes.Wait()
	total := l.shards[0].Gradient
	for i, r := range l.shards[:shards] {
		if errs[i] != nil {
			return nil, internal(errs[i])
		}
		if r.Loss-r.Loss != 0 {
			return nil, numeric("the loss is infinite or not a number")
		}
		for j, row := range minibatch[i*l.shardRows : min(len(minibatch), (i+1)*l.shardRows)] {
			sums.row(l, b, row, r, j)
		}
		if i > 0 {
			for j, g := range r.Gradient {
				total[j] += g
			}
		}
	}
	return total, nil
}

// grow makes the graphs and results of that many shards.
func (l *Learner) grow(shards int) error {
	for len(l.shards) < shards {
		l.shards = append(l.shards, loss.NewResult(len(l.policy.params), l.shardRows))
	}
	for len(l.lanes) < min(shards, processors.Count()) {
		g, err := graph.New(l.policy.net, l.policy.params, l.coefficients, l.shardRows)
		if err != nil {
			return internal(err)
		}
		l.lanes = append(l.lanes, g)
	}
	return nil
}
