// Package tree reads JSON and YAML as trees that hide nothing: keys that stand
// twice are there twice, every value knows its line, and what is wrong is an
// error with its line. Trees are bounded by the text and by Depth.
package tree

import "fmt"

// Depth is how deep values may lie in each other.
const Depth = 32

// Kind is what a node is, in words for a message.
type Kind string

// The kinds of nodes.
const (
	Object Kind = "an object"
	List   Kind = "a list"
	Text   Kind = "text"
	Number Kind = "a number"
	Bool   Kind = "true or false"
	Null   Kind = "null"
)

// Node is a value.
type Node struct {
	Kind    Kind
	Line    int      // where it begins, from 1
	Text    string   // of Text
	Number  float64  // of Number; may be infinite or NaN
	Members []Member // of Object, in order
	Items   []*Node  // of List
}

// Member is a key of an object with its value.
type Member struct {
	Key   string
	Line  int // of the key
	Value *Node
}

// Has reports whether n has the key.
func (n *Node) Has(key string) bool {
	for _, m := range n.Members {
		if m.Key == key {
			return true
		}
	}
	return false
}

// Error is text that cannot be read.
type Error struct {
	Line int // from 1
	What string
	Hint string
}

// Error says what and where.
func (e *Error) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.What) }
