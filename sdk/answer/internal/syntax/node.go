// Package syntax reads mathematics as models write it, LaTeX or plain text, into
// a tree. It reads forgivingly: units, styles and spaces do not matter.
package syntax

import "github.com/merit-rl/merit/sdk/answer/internal/rat"

// Kind is what a node is.
type Kind uint8

const (
	// Number has Num; Decimal tells that it was written with a decimal point, and
	// Base is the subscript of a numeral such as 204_5, or 0.
	Number Kind = iota
	// Symbol is a variable, in lower case: x, x_1, alpha.
	Symbol
	// Constant is pi, e, i, or inf.
	Constant
	// Sum, Product and Power have operands; a difference is a sum with a product by -1.
	Sum
	Product
	Power
	// Call is a function: root, abs, sin, factorial, percent, degree, pm, f.
	Call
	// List is what commas, semicolons and "and" separate outside of brackets.
	List
	// Set is in braces, Tuple in parentheses or brackets.
	Set
	Tuple
	// Interval has two ends and OpenLeft, OpenRight.
	Interval
	// Union, Intersection and Without combine sets; SetName is R, Z, N, Q, C or empty.
	Union
	Intersection
	Without
	SetName
	// Matrix has rows, which are tuples.
	Matrix
	// Relation has one operator fewer than operands: 1 < x <= 2.
	Relation
	// Such is a set by a condition: a pattern and the condition.
	Such
	// Word is text: even, Evelyn.
	Word
)

// Op is the operator of a relation.
type Op uint8

// The operators of relations.
const (
	EQ Op = iota
	NE
	LT
	LE
	GT
	GE
	In
	NotIn
	Approx
)

// Node is a node of the tree.
type Node struct {
	Kind                Kind
	Decimal             bool
	OpenLeft, OpenRight bool
	Base                int
	Num                 rat.Rat
	Name                string
	Unit                *Unit // what the value is measured in, or nil
	Args                []*Node
	Ops                 []Op
	Text                string // the source, for elements of lists and for the whole
}

func number(r rat.Rat) *Node { return &Node{Kind: Number, Num: r} }

func call(name string, args ...*Node) *Node { return &Node{Kind: Call, Name: name, Args: args} }

// Int is the node of a whole number.
func Int(n int64) *Node { return number(rat.Int(n)) }

// Neg is minus n.
func Neg(n *Node) *Node {
	if n.Kind == Number && n.Num.OK() && n.Base == 0 {
		m := *n
		m.Num = n.Num.Neg()
		return &m
	}
	return &Node{Kind: Product, Args: []*Node{Int(-1), n}}
}

// Over is a over b.
func Over(a, b *Node) *Node {
	if a.Kind == Number && b.Kind == Number && b.Num.Sign() != 0 {
		if q := a.Num.Div(b.Num); q.OK() {
			return &Node{Kind: Number, Num: q, Decimal: a.Decimal || b.Decimal}
		}
	}
	return &Node{Kind: Product, Args: []*Node{a, {Kind: Power, Args: []*Node{b, Int(-1)}}}}
}

// Times is a times b.
func Times(a, b *Node) *Node {
	if a.Kind == Number && b.Kind == Number {
		if q := a.Num.Mul(b.Num); q.OK() {
			return &Node{Kind: Number, Num: q, Decimal: a.Decimal || b.Decimal}
		}
	}
	if a.Kind == Product {
		return &Node{Kind: Product, Args: append(a.Args[:len(a.Args):len(a.Args)], b)}
	}
	return &Node{Kind: Product, Args: []*Node{a, b}}
}

// Plus is a plus b.
func Plus(a, b *Node) *Node {
	if a.Kind == Number && b.Kind == Number {
		if q := a.Num.Add(b.Num); q.OK() {
			return &Node{Kind: Number, Num: q, Decimal: a.Decimal || b.Decimal}
		}
	}
	if a.Kind == Sum {
		return &Node{Kind: Sum, Args: append(a.Args[:len(a.Args):len(a.Args)], b)}
	}
	return &Node{Kind: Sum, Args: []*Node{a, b}}
}

// Minus is a minus b.
func Minus(a, b *Node) *Node { return Plus(a, Neg(b)) }

// Raise is a to the power b.
func Raise(a, b *Node) *Node { return &Node{Kind: Power, Args: []*Node{a, b}} }
