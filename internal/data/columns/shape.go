package columns

import (
	"cmp"
	"slices"
	"strings"
)

// Kind is the kind of values in a column.
type Kind byte

// The kinds of a Shape.
const (
	Bool Kind = iota + 1
	Int
	Uint
	Double
	String
	JSON    // any value, as its JSON
	List    // of Elem
	Object  // of Fields
	Entries // an object whose members are objects, stored as a list of Fields, the first of which has the member's name
)

// Shape is the type of a column, or of a value in it. Every value may be null.
type Shape struct {
	Kind   Kind
	Fields []Field
	Elem   *Shape
}

// Field is a column, or a member of an object.
type Field struct {
	Name  string
	Shape Shape
}

// Rest is the name of a column with a row's values that do not fit the other columns, as
// the text of a JSON object. In a row with it, a null in another column means that the
// row does not have that column.
const Rest = "merit_json"

// Table is the schema of a Parquet file.
type Table struct {
	Columns []Field
	// Rest adds a column of that name for everything that does not fit the other
	// columns: values of other kinds, other columns, and explicit nulls. Without it such
	// a value is an error.
	Rest bool
	// Note is stored in the file: what its rows are.
	Note string
}

// Guess finds the table that stores rows without loss, whatever their order. A column
// has a type if all its values are of one kind, and all objects in it have the same
// members.
type Guess struct {
	// Lenient lists paths (names separated by points) of objects in which a missing
	// member is equivalent to null, and 1 to 1.0, except for the members in
	// Strict.
	Lenient, Strict []string
	// First lists the names of columns and members that come first, in that order;
	// others follow by name.
	First []string

	columns map[string]*kinds
}

// maxExact is the largest integer up to which a float64 represents all integers.
const maxExact = 1 << 53

// maxGuess is the maximum number of typed columns, and of members of an object.
const maxGuess = 1024

// kinds records what occurred in one place.
type kinds struct {
	seen     seen
	objects  int
	fields   map[string]*kinds
	elem     *kinds
	lenient  bool
	negative bool
	large    bool // an integer that exceeds 63 bits
	inexact  bool // an integer that no float64 represents
	here     int  // objects with this member
}

type seen byte

const (
	sawBool seen = 1 << iota
	sawInt
	sawDouble
	sawString
	sawList
	sawObject
	sawStrange // only JSON can represent it
)

// Add records a row: the text of a valid JSON object.
func (g *Guess) Add(row []byte) {
	row = validUTF8(row)
	if g.columns == nil {
		g.columns = map[string]*kinds{}
	}
	eachMember(row, func(name string, value []byte) {
		k := g.columns[name]
		if k == nil {
			if len(g.columns) >= maxGuess || name == Rest || name == "" {
				return
			}
			k = &kinds{}
			g.columns[name] = k
		}
		if string(value) != "null" { // kept in Rest
			k.add(value, name, g, 0)
		}
	})
}

// add records the kind of value at path.
func (k *kinds) add(value []byte, path string, g *Guess, depth int) {
	if k.seen&sawStrange != 0 {
		return
	}
	switch c := value[0]; {
	case c == 'n':
		return
	case c == 't' || c == 'f':
		k.seen |= sawBool
	case c == '"':
		k.seen |= sawString
		if !exactString(value) {
			k.seen |= sawStrange
		}
	case c == '[':
		k.seen |= sawList
		if k.elem == nil {
			k.elem = &kinds{}
		}
		eachElement(value, func(v []byte) { k.elem.add(v, path, g, depth+1) })
	case c == '{':
		k.seen |= sawObject
		k.object(value, path, g, depth)
	default:
		k.number(value)
	}
	if k.seen == sawInt|sawDouble && k.lenient && !k.large && !k.inexact {
		k.seen = sawDouble
	}
	if depth > maxDepth/3 || k.seen&(k.seen-1) != 0 {
		k.seen |= sawStrange
	}
	if k.seen&sawStrange != 0 {
		k.fields, k.elem = nil, nil
	}
}

func (k *kinds) number(value []byte) {
	switch x, kind := exactNumber(value); {
	case kind == Double:
		k.seen |= sawDouble
	case kind == Int:
		k.seen |= sawInt
		k.inexact = k.inexact || x > maxExact || x < -maxExact
		k.negative = k.negative || x < 0
	case kind == Uint:
		k.seen |= sawInt
		k.large = true
	default:
		k.seen |= sawStrange
	}
	if k.negative && k.large {
		k.seen |= sawStrange
	}
}

func (k *kinds) object(value []byte, path string, g *Guess, depth int) {
	if k.objects++; k.fields == nil {
		k.fields = map[string]*kinds{}
	}
	members, first := 0, k.objects == 1
	lenient := slices.Contains(g.Lenient, path)
	eachMember(value, func(name string, v []byte) {
		members++
		f := k.fields[name]
		if f == nil && k.seen&sawStrange == 0 {
			if !first && !lenient || len(k.fields) >= maxGuess || name == "" {
				k.seen |= sawStrange
				return
			}
			f = &kinds{lenient: lenient && !slices.Contains(g.Strict, path+"."+name)}
			k.fields[name] = f
		}
		if f == nil {
			return
		}
		if f.here == k.objects || f.here < k.objects-1 && !f.lenient {
			k.seen |= sawStrange // twice in this object, or missing in an earlier one
		}
		f.here = k.objects
		f.add(v, path+"."+name, g, depth+1)
	})
	for _, f := range k.fields {
		if f.here != k.objects && !f.lenient {
			k.seen |= sawStrange
		}
	}
	if members == 0 {
		k.seen |= sawStrange
	}
}

// Table returns the table for the rows that were added.
func (g *Guess) Table(note string) Table {
	t := Table{Rest: true, Note: note}
	for name, k := range g.columns {
		if shape, ok := k.shape(g); ok {
			t.Columns = append(t.Columns, Field{name, shape})
		}
	}
	g.sort(t.Columns)
	return t
}

// sort sorts columns independently of the order of rows.
func (g *Guess) sort(fields []Field) {
	place := func(f Field) int {
		if i := slices.Index(g.First, f.Name); i >= 0 {
			return i
		}
		return len(g.First)
	}
	slices.SortFunc(fields, func(a, b Field) int {
		return cmp.Or(place(a)-place(b), strings.Compare(a.Name, b.Name))
	})
}

// shape returns the type of what was recorded, if there is one without loss.
func (k *kinds) shape(g *Guess) (Shape, bool) {
	switch k.seen {
	case sawBool:
		return Shape{Kind: Bool}, true
	case sawInt:
		if k.large {
			return Shape{Kind: Uint}, true
		}
		return Shape{Kind: Int}, true
	case sawDouble:
		return Shape{Kind: Double}, true
	case sawString:
		return Shape{Kind: String}, true
	case sawList:
		elem, ok := k.elem.shape(g)
		return Shape{Kind: List, Elem: &elem}, ok
	case sawObject:
		s := Shape{Kind: Object}
		for name, f := range k.fields {
			field, ok := f.shape(g)
			if !ok && !(f.seen == 0 && f.lenient) { // always null: equivalent to missing
				return s, false
			}
			if ok {
				s.Fields = append(s.Fields, Field{name, field})
			}
		}
		g.sort(s.Fields)
		return s, len(s.Fields) > 0
	}
	return Shape{}, false
}
