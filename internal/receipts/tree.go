package receipts

import (
	"crypto/sha256"
	"slices"
)

// A leaf of the tree is the digest of a line without its end. Every level joins fanOut neighbors,
// the last ones fewer, until one is left. What is hashed for a node begins with the byte 1, and
// lines begin with {, so that no line is a node.

// fanOut is how many digests a node joins. Hashing a tree of pairs would take three times as long,
// and a wider one makes longer paths.
const fanOut = 8

func node(below []Digest) Digest {
	var joined [1 + fanOut*sha256.Size]byte
	joined[0] = 1
	all := joined[:1]
	for i := range below {
		all = append(all, below[i][:]...)
	}
	return sha256.Sum256(all)
}

// above returns the next level of a tree.
func above(level []Digest) []Digest {
	next := make([]Digest, 0, (len(level)+fanOut-1)/fanOut)
	for below := range slices.Chunk(level, fanOut) {
		next = append(next, node(below))
	}
	return next
}

// root returns the root of a tree; for no leaves, the digest of nothing.
func root(leaves []Digest) Digest {
	if len(leaves) == 0 {
		return sha256.Sum256(nil)
	}
	for len(leaves) > 1 {
		leaves = above(leaves)
	}
	return leaves[0]
}

// path returns what leads from leaf i to the root: on each level, the neighbors that are joined
// with it.
func path(leaves []Digest, i int) [][]Digest {
	all := [][]Digest{}
	for ; len(leaves) > 1; leaves, i = above(leaves), i/fanOut {
		first := i / fanOut * fanOut
		joined := leaves[first:min(first+fanOut, len(leaves))]
		all = append(all, slices.Concat(joined[:i-first], joined[i-first+1:]))
	}
	return all
}

// climb returns the root to which a path leads from leaf i of n; false if the path has another
// shape.
func climb(leaf Digest, i, n int, path [][]Digest) (Digest, bool) {
	if i < 0 || i >= n {
		return leaf, false
	}
	for ; n > 1; i, n = i/fanOut, (n+fanOut-1)/fanOut {
		first := i / fanOut * fanOut
		if len(path) == 0 || len(path[0]) != min(fanOut, n-first)-1 {
			return leaf, false
		}
		leaf = node(slices.Insert(slices.Clone(path[0]), i-first, leaf))
		path = path[1:]
	}
	return leaf, len(path) == 0
}
