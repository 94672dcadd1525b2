package interchange

import (
	"fmt"
	"maps"
	"slices"
	"sync"
)

// Notes counts what files say that a trajectory cannot hold, by a phrase that says what it
// is and what became of it. It is safe for concurrent use; a nil Notes counts nothing.
type Notes struct {
	mu     sync.Mutex
	counts map[string]int
}

// Add counts one occurrence.
func (n *Notes) Add(format string, args ...any) {
	if n == nil {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.counts == nil {
		n.counts = map[string]int{}
	}
	what := fmt.Sprintf(format, args...)
	if _, known := n.counts[what]; !known && len(n.counts) >= mostNotes {
		what = "other things that Merit does not read"
	}
	n.counts[what]++
}

// mostNotes limits the number of phrases, which may contain names from the file.
const mostNotes = 50

// Lines returns one line for each phrase, with its count, sorted.
func (n *Notes) Lines() []string {
	if n == nil {
		return nil
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	var lines []string
	for _, what := range slices.Sorted(maps.Keys(n.counts)) {
		lines = append(lines, fmt.Sprintf("%d × %s", n.counts[what], what))
	}
	return lines
}
