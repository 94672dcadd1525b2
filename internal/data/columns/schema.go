package columns

import (
	"fmt"

	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/format"

	"github.com/merit-rl/merit/internal/data/table"
)

// maxDepth is the maximum nesting of a schema.
const maxDepth = 32

// form is how a place of a row is written as JSON.
type form byte

const (
	isScalar form = iota
	isObject
	isArray // of children[0]
	isDict  // an object with children[0] for keys and children[1] for values
)

// place is a node of the schema in the form of a row's JSON: lists and maps without the
// intermediate groups.
type place struct {
	name     string
	key      []byte // "name":
	form     form
	optional bool
	def      int // definition level at which it is not null
	rep      int // isArray, isDict: repetition level of the elements
	elemDef  int // isArray, isDict: definition level at which an element exists
	children []*place
	leaf     *leaf   // isScalar
	leaves   []*leaf // all leaves below
}

// schema builds places from the flat list in the footer.
type schema struct {
	elements []format.SchemaElement
	next     int
	leaves   []*leaf
	problems []string
}

// newSchema returns the place of a whole row, and the problems of columns.
func newSchema(elements []format.SchemaElement) (row *place, leaves []*leaf, problems []string, err error) {
	s := &schema{elements: elements}
	if len(elements) == 0 || elements[0].Type.Valid {
		return nil, nil, nil, fmt.Errorf("the schema is missing")
	}
	row = &place{name: "a row", form: isObject}
	if err := s.fields(row, &elements[0], 0, 0, 0); err != nil {
		return nil, nil, nil, err
	}
	if s.next++; s.next != len(elements) {
		return nil, nil, nil, fmt.Errorf("its schema has %d elements but uses %d", len(elements), s.next)
	}
	return row, s.leaves, s.problems, nil
}

func children(e *format.SchemaElement) int {
	if e.NumChildren.Valid {
		return int(e.NumChildren.V)
	}
	return 0
}

// fields adds the children of group e, the last element taken, to p.
func (s *schema) fields(p *place, e *format.SchemaElement, rep, def, depth int) error {
	n := children(e)
	if n < 1 || n > len(s.elements) {
		return fmt.Errorf("%q is a group of %d columns", e.Name, n)
	}
	var names []string
	for range n {
		child, err := s.node(rep, def, depth+1)
		if err != nil {
			return err
		}
		names = append(names, child.name)
		p.children, p.leaves = append(p.children, child), append(p.leaves, child.leaves...)
	}
	for _, problem := range table.Names(names) {
		s.problems = append(s.problems, fmt.Sprintf("in %s, %s", p.name, problem))
	}
	return nil
}

// take returns the next element of the schema.
func (s *schema) take(depth int) (*format.SchemaElement, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("its schema is nested more than %d levels deep", maxDepth)
	}
	if s.next++; s.next >= len(s.elements) {
		return nil, fmt.Errorf("its schema ends too early")
	}
	return &s.elements[s.next], nil
}

// node builds the next node. A repeated node without an annotation is a
// list.
func (s *schema) node(rep, def, depth int) (*place, error) {
	e, err := s.take(depth)
	if err != nil {
		return nil, err
	}
	if repetition(e) == format.Repeated {
		p := named(e, isArray)
		p.def, p.rep, p.elemDef = def, rep+1, def+1
		return p, s.element(p, e, depth)
	}
	p := named(e, isObject)
	if p.optional = repetition(e) == format.Optional; p.optional {
		def++
	}
	p.def = def
	return p, s.content(p, e, rep, depth)
}

func named(e *format.SchemaElement, f form) *place {
	return &place{name: e.Name, key: table.Key(e.Name), form: f}
}

// element adds the repeated node e, the last element taken, as the element of
// list p.
func (s *schema) element(p *place, e *format.SchemaElement, depth int) error {
	inner := &place{name: e.Name, form: isObject, def: p.elemDef}
	if err := s.content(inner, e, p.rep, depth); err != nil {
		return err
	}
	p.children, p.leaves = []*place{inner}, inner.leaves
	return nil
}

// content fills p from e, the last element taken, regardless of whether it is optional or
// repeated.
func (s *schema) content(p *place, e *format.SchemaElement, rep, depth int) error {
	if _, variant := e.LogicalType.Value.(*format.VariantType); variant {
		s.problems = append(s.problems, fmt.Sprintf("column %q has the unsupported type VARIANT", e.Name))
	}
	switch {
	case children(e) == 0:
		return s.scalar(p, e, rep)
	case isList(e) && s.wraps(1):
		p.form = isArray
		inner, err := s.take(depth + 1)
		if err != nil {
			return err
		}
		p.rep, p.elemDef = rep+1, p.def+1
		if children(inner) == 1 && inner.Name != "array" && inner.Name != e.Name+"_tuple" && !s.wraps(1) {
			child, err := s.node(p.rep, p.elemDef, depth+2)
			if err != nil {
				return err
			}
			p.children, p.leaves = []*place{child}, child.leaves
			return nil
		}
		return s.element(p, inner, depth+1) // as older writers do
	case isMap(e) && s.wraps(2):
		p.form = isDict
		inner, err := s.take(depth + 1)
		if err != nil {
			return err
		}
		p.rep, p.elemDef = rep+1, p.def+1
		if err := s.fields(p, inner, p.rep, p.elemDef, depth+1); err != nil {
			return err
		}
		if key := p.children[0]; key.form != isScalar || key.optional || !key.leaf.named() {
			s.problems = append(s.problems, fmt.Sprintf("the keys of the map %q are neither text nor integers", e.Name))
		}
		return nil
	}
	return s.fields(p, e, rep, p.def, depth)
}

// wraps reports whether the next element is the repeated group of a list (1) or of a map
// (2).
func (s *schema) wraps(least int) bool {
	if s.next+1 >= len(s.elements) {
		return false
	}
	e := &s.elements[s.next+1]
	return repetition(e) == format.Repeated && children(&s.elements[s.next]) == 1 && (least == 1 || children(e) == least)
}

func (s *schema) scalar(p *place, e *format.SchemaElement, rep int) error {
	p.form = isScalar
	if len(s.leaves) >= table.MaxColumns {
		return fmt.Errorf("it has more than %d columns", table.MaxColumns)
	}
	l, err := newLeaf(e, rep, p.def)
	if err != nil {
		s.problems = append(s.problems, fmt.Sprintf("column %q %v", e.Name, err))
		l = &leaf{}
	}
	p.leaf, p.leaves, s.leaves = l, []*leaf{l}, append(s.leaves, l)
	return nil
}

func repetition(e *format.SchemaElement) format.FieldRepetitionType {
	if e.RepetitionType.Valid {
		return e.RepetitionType.V
	}
	return format.Required
}

func converted(e *format.SchemaElement) deprecated.ConvertedType {
	if e.ConvertedType.Valid {
		return e.ConvertedType.V
	}
	return -1
}

func isList(e *format.SchemaElement) bool {
	_, ok := e.LogicalType.Value.(*format.ListType)
	return ok || converted(e) == deprecated.List
}

func isMap(e *format.SchemaElement) bool {
	_, ok := e.LogicalType.Value.(*format.MapType)
	return ok || converted(e) == deprecated.Map || converted(e) == deprecated.MapKeyValue
}
