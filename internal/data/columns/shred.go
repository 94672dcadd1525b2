package columns

import (
	"fmt"
	"strconv"

	"github.com/parquet-go/parquet-go"

	"github.com/merit-rl/merit/internal/base/jsonspan"
)

// branch is a Shape in the schema of a file, with its column numbers.
type branch struct {
	Shape
	name     string
	from, to int // its columns of values
	children []*branch
}

// plant numbers the columns of a shape, starting at next.
func plant(name string, s Shape, next int) *branch {
	b := &branch{Shape: s, name: name, from: next}
	fields := s.Fields
	if s.Kind == List {
		fields = []Field{{"element", *s.Elem}}
	}
	for _, f := range fields {
		child := plant(f.Name, f.Shape, next)
		b.children, next = append(b.children, child), child.to
	}
	if b.to = next; len(b.children) == 0 {
		b.to++
	}
	return b
}

// node returns the schema of a shape; every value may be null.
func (b *branch) node() parquet.Node {
	switch b.Kind {
	case Bool:
		return parquet.Optional(parquet.Leaf(parquet.BooleanType))
	case Int:
		return parquet.Optional(parquet.Int(64))
	case Uint:
		return parquet.Optional(parquet.Uint(64))
	case Double:
		return parquet.Optional(parquet.Leaf(parquet.DoubleType))
	case List:
		return parquet.Optional(parquet.List(b.children[0].node()))
	case Object:
		return parquet.Optional(group(b.children))
	case Entries:
		return parquet.Optional(parquet.List(parquet.Optional(group(b.children))))
	}
	return parquet.Optional(parquet.String())
}

// ordered is a group that keeps the order of its fields.
type ordered struct {
	parquet.Group
	fields []parquet.Field
}

// Fields returns the fields in order.
func (o ordered) Fields() []parquet.Field { return o.fields }

func group(children []*branch) parquet.Node {
	o := ordered{Group: parquet.Group{}}
	for _, b := range children {
		node := b.node()
		o.Group[b.name] = node
		o.fields = append(o.fields, parquet.Group{b.name: node}.Fields()...)
	}
	return o
}

// shredder splits rows into columns.
type shredder struct {
	columns [][]parquet.Value
	row     parquet.Row
}

// errKind is the panic value for a value that is not of its column's kind.
type errKind struct{ error }

// put adds value below b, whose parent is at the given levels.
func (s *shredder) put(b *branch, value []byte, rep, def, level int) {
	if value == nil || value[0] == 'n' {
		s.none(b, rep, def)
		return
	}
	def++
	wrong := func() {
		panic(errKind{fmt.Errorf("column %q cannot hold %.40s", b.name, value)})
	}
	switch c := value[0]; {
	case b.Kind == List && c == '[':
		first := true
		eachElement(value, func(v []byte) {
			s.put(b.children[0], v, s.repeat(&first, rep, level), def+1, level+1)
		})
		if first {
			s.none(b, rep, def)
		}
	case b.Kind == Entries && c == '{':
		first := true
		eachMember(value, func(name string, v []byte) {
			r := s.repeat(&first, rep, level)
			s.add(b.from, parquet.ByteArrayValue([]byte(name)), r, def+3)
			s.members(b.children[1:], v, r, def+2, level+1)
		})
		if first {
			s.none(b, rep, def)
		}
	case b.Kind == Object && c == '{':
		s.members(b.children, value, rep, def, level)
	case b.Kind == JSON:
		s.add(b.from, parquet.ByteArrayValue(value), rep, def)
	case b.Kind == String && c == '"':
		s.add(b.from, parquet.ByteArrayValue(jsonspan.Text(value)), rep, def)
	case b.Kind == Bool && (c == 't' || c == 'f'):
		s.add(b.from, parquet.BooleanValue(c == 't'), rep, def)
	case b.Kind == Int:
		x, err := strconv.ParseInt(string(value), 10, 64)
		if err != nil {
			wrong()
		}
		s.add(b.from, parquet.Int64Value(x), rep, def)
	case b.Kind == Uint:
		x, err := strconv.ParseUint(string(value), 10, 64)
		if err != nil {
			wrong()
		}
		s.add(b.from, parquet.Int64Value(int64(x)), rep, def)
	case b.Kind == Double:
		x, err := strconv.ParseFloat(string(value), 64)
		if err != nil {
			wrong()
		}
		s.add(b.from, parquet.DoubleValue(x), rep, def)
	default:
		wrong()
	}
}

// repeat returns the repetition level of the next element of a list: for the first one,
// that of the list.
func (s *shredder) repeat(first *bool, rep, level int) int {
	if *first {
		*first = false
		return rep
	}
	return level + 1
}

// members adds the members of the object in text to branches.
func (s *shredder) members(branches []*branch, text []byte, rep, def, level int) {
	values := make([][]byte, len(branches))
	eachMember(text, func(name string, value []byte) {
		for i, b := range branches {
			if b.name == name {
				values[i] = value
				return
			}
		}
		panic(errKind{fmt.Errorf("there is no column for %q", name)})
	})
	for i, b := range branches {
		s.put(b, values[i], rep, def, level)
	}
}

func (s *shredder) none(b *branch, rep, def int) {
	for i := b.from; i < b.to; i++ {
		s.add(i, parquet.NullValue(), rep, def)
	}
}

func (s *shredder) add(column int, v parquet.Value, rep, def int) {
	s.columns[column] = append(s.columns[column], v.Level(rep, def, column))
}

// take returns the current row, and starts the next.
func (s *shredder) take() parquet.Row {
	s.row = s.row[:0]
	for i, values := range s.columns {
		s.row = append(s.row, values...)
		s.columns[i] = values[:0]
	}
	return s.row
}
