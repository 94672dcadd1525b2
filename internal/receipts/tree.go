package receipts

import "crypto/sha256"

// The tree is that of RFC 6962: the left half of n leaves has as many as the largest power of two
// below n. A leaf is the digest of a line without its end. Lines begin with {, and what is hashed
// for a node with the byte 1, so that no line is a node.

func node(left, right Digest) Digest {
	var both [1 + 2*sha256.Size]byte
	both[0] = 1
	copy(both[1:], left[:])
	copy(both[1+sha256.Size:], right[:])
	return sha256.Sum256(both[:])
}

// root returns the root of the tree; for no leaves, the digest of nothing.
func root(leaves []Digest) Digest {
	switch len(leaves) {
	case 0:
		return sha256.Sum256(nil)
	case 1:
		return leaves[0]
	}
	half := half(len(leaves))
	return node(root(leaves[:half]), root(leaves[half:]))
}

// half returns the largest power of two below n.
func half(n int) int {
	k := 1
	for 2*k < n {
		k *= 2
	}
	return k
}

// path returns the digests that lead from leaf i to the root, from below.
func path(leaves []Digest, i int) []Digest {
	if len(leaves) <= 1 {
		return nil
	}
	half := half(len(leaves))
	if i < half {
		return append(path(leaves[:half], i), root(leaves[half:]))
	}
	return append(path(leaves[half:], i-half), root(leaves[:half]))
}

// climb returns the root to which a path leads from leaf i of n; false if the path has another
// length.
func climb(leaf Digest, i, n int, path []Digest) (Digest, bool) {
	if n == 1 {
		return leaf, i == 0 && len(path) == 0
	}
	if len(path) == 0 || i < 0 || i >= n {
		return Digest{}, false
	}
	last := len(path) - 1
	half := half(n)
	if i < half {
		below, ok := climb(leaf, i, half, path[:last])
		return node(below, path[last]), ok
	}
	below, ok := climb(leaf, i-half, n-half, path[:last])
	return node(path[last], below), ok
}
