package action

import (
	"unicode"
	"unicode/utf8"

	"github.com/merit-rl/merit/core/rl"
)

// names finds the environment's actions by name: a tree with a rune a branch.
type names struct {
	list  []string
	fold  bool // upper and lower case are the same
	next  map[branch]int32
	end   []int32   // per node: the action whose name ends here, or -1
	first [256]bool // the bytes with which a name may begin
}

type branch struct {
	node int32
	r    rune
}

// newNames also returns a duplicate name, if there is one.
func newNames(list []string, fold bool) (n *names, same string) {
	n = &names{list: list, fold: fold, next: map[branch]int32{}, end: []int32{-1}}
	for i, name := range list {
		node := int32(0)
		for _, r := range name {
			b := branch{node, n.key(r)}
			next, ok := n.next[b]
			if !ok {
				next = int32(len(n.end))
				n.next[b], n.end = next, append(n.end, -1)
			}
			node = next
		}
		if n.end[node] >= 0 {
			same = name
		}
		n.end[node] = int32(i)
		n.begin(name)
	}
	return n, same
}

// begin notes the bytes with which name may begin.
func (n *names) begin(name string) {
	first, _ := utf8.DecodeRuneInString(name)
	n.first[utf8.AppendRune(nil, first)[0]] = true
	for r := unicode.SimpleFold(first); n.fold && r != first; r = unicode.SimpleFold(r) {
		n.first[utf8.AppendRune(nil, r)[0]] = true
	}
}

// at returns the action with the longest name that begins at a place in text,
// and where it ends; with whole, of those that end with a word. The action is
// -1 if there is none.
func (n *names) at(text string, place int, whole bool) (action int32, end int) {
	action = -1
	node := int32(0)
	for i := place; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		next, ok := n.next[branch{node, n.key(r)}]
		if !ok {
			break
		}
		node, i = next, i+size
		if a := n.end[node]; a >= 0 && !(whole && insideWord(text, i)) {
			action, end = a, i
		}
	}
	return action, end
}

// lookup returns the action that is called name, or -1.
func (n *names) lookup(name string) int32 {
	if a, end := n.at(name, 0, false); end == len(name) {
		return a
	}
	return -1
}

func (n *names) action(i int32) rl.Action {
	return rl.Action{Kind: rl.ActionChoice, Choice: int(i), Text: n.list[i]}
}

// key returns the rune that represents r in the tree: the smallest of its case
// variants.
func (n *names) key(r rune) rune {
	switch {
	case !n.fold:
		return r
	case 'a' <= r && r <= 'z':
		return r - 'a' + 'A'
	case r < utf8.RuneSelf:
		return r
	}
	least := r
	for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
		least = min(least, f)
	}
	return least
}
