package learn

import "github.com/merit-rl/merit/core/rl"

// maxShardRows is the most rows of a shard: with layers of the usual widths
// what a shard computes stays in the cache of a core, and minibatches of the
// usual sizes have a shard for every core.
const maxShardRows = 128

// shardRows returns the rows of a shard for minibatches of that size: shards of
// equal size, ±1 row in the last.
func shardRows(minibatch int) int {
	shards := (minibatch + maxShardRows - 1) / maxShardRows
	return (minibatch + shards - 1) / shards
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
