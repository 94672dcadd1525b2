package request

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func config() Config {
	return Config{
		Size: [2]int{8, 14}, Depth: [2]int{2, 3}, Synonyms: 100, Vague: 50, Noise: 80, Fresh: 300, Careful: 300, InOrder: 500,
		Accept: func(uint64) bool { return true },
	}
}

func each(t *Task, visit func(*Task)) {
	visit(t)
	for _, p := range t.Parts {
		each(p, visit)
	}
}

// Promise: a request is what its shape says: the kinds of its trade, sizes that
// add up, split exactly where it is too large, and a text that tells it.
func TestStructure(t *testing.T) {
	for seed := range uint64(1000) {
		root, err := New(seed, config())
		require.NoError(t, err)
		require.GreaterOrEqual(t, root.Depth(), 2)
		require.LessOrEqual(t, root.Depth(), 3)
		each(root, func(n *Task) {
			if !n.Kind.Splittable() {
				require.True(t, n.Atomic())
				require.Equal(t, ForAll, n.Text)
				return
			}
			require.Equal(t, n.Excess() == 0, n.Atomic(), "%+v", n)
			require.InDelta(t, n.Size, n.Hint, 1)
			require.Contains(t, []int{0, n.Shape.Workers}, n.Named)
			for _, w := range n.Words {
				require.Contains(t, n.Text, ", "+Phrases()[w])
			}
			if n.Named > 0 {
				require.Contains(t, n.Text, list(n.names))
			}
			if n.Atomic() {
				return
			}
			kinds, after := n.Shape.Kinds(n.Work())
			require.Len(t, n.Parts, len(kinds))
			require.Len(t, after, n.Shape.Tasks())
			sum := 0
			for i, p := range n.Parts {
				require.Equal(t, kinds[i], p.Kind)
				require.Positive(t, p.Size)
				sum += p.Size
			}
			require.Equal(t, n.Size, sum)
		})
	}
}

// Promise: a seed gives the same request for ever.
func TestGolden(t *testing.T) {
	var b strings.Builder
	for seed := range uint64(300) {
		root, err := New(seed, config())
		require.NoError(t, err)
		each(root, func(n *Task) { fmt.Fprintln(&b, n.Kind, n.Text, n.Hint, n.Size, n.Shape, n.Luck) })
	}
	sum := sha256.Sum256([]byte(b.String()))
	require.Equal(t, "8a34de84a7d1841a", hex.EncodeToString(sum[:8]), "requests have changed: so have all results; give the plug-in another version")
}

// Promise: tasks that are done in one go read like those that are not.
func TestTextsDoNotTell(t *testing.T) {
	type counts struct{ tasks, words, vague int }
	of := map[bool]*counts{true: {}, false: {}}
	for seed := range uint64(2000) {
		root, err := New(seed, config())
		require.NoError(t, err)
		each(root, func(n *Task) {
			if n.Kind == Project || !n.Kind.Splittable() || n.Size < 3 {
				return // in a small task not everything has room
			}
			c := of[n.Atomic()]
			c.tasks++
			c.words += len(n.Words)
			if n.Named == 0 {
				c.vague++
			}
		})
	}
	split, whole := of[false], of[true]
	require.Greater(t, min(split.tasks, whole.tasks), 500)
	require.InDelta(t, float64(split.words)/float64(split.tasks), float64(whole.words)/float64(whole.tasks), 0.25)
	require.InDelta(t, float64(split.vague)/float64(split.tasks), float64(whole.vague)/float64(whole.tasks), 0.03)
}

// Promise: what cannot be drawn is an error, not a loop.
func TestNothingToDraw(t *testing.T) {
	c := config()
	c.Accept = func(uint64) bool { return false }
	_, err := New(1, c)
	require.ErrorContains(t, err, "no request of size [8 14] and depth [2 3] was found in 10000")
}
