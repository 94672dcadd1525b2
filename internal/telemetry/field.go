package telemetry

import (
	"reflect"
	"slices"
	"strings"

	"github.com/merit-rl/merit/core/run"
)

// AnyName takes the place, in the path of a Field, of a map key or the name of a list element.
const AnyName = "NAME"

// Field is a number that a record can have. The numbers of a record are Scalars.
type Field struct {
	Path []string // as in Scalar, with AnyName at Key
	Key  int      // the index of AnyName; -1 if there is none
	// In and Go are the struct and the Go field that hold the number; the comment of the field
	// says what it means.
	In reflect.Type
	Go string
}

// Name joins the path with slashes.
func (f Field) Name() string { return strings.Join(f.Path, "/") }

// Fields returns all numbers that a record of this type can have, in the order of its fields.
func Fields(record any) []Field { return fields(nil, reflect.TypeOf(record), Field{Key: -1}) }

// fields appends the numbers of a type, as walk does for values.
func fields(dst []Field, t reflect.Type, f Field) []Field {
	switch {
	case t.Kind() == reflect.Pointer:
		return fields(dst, t.Elem(), f)
	case t == reflect.TypeFor[run.Interval]():
		return append(dst, f.at("low"), f.at("high"))
	case t.Kind() >= reflect.Bool && t.Kind() <= reflect.Float64:
		return append(dst, f)
	case t.Kind() == reflect.Map && t.Key().Kind() == reflect.String:
		f.Key = len(f.Path)
		return fields(dst, t.Elem(), f.at(AnyName))
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Struct:
		if name, ok := t.Elem().FieldByName("Name"); ok && name.Type.Kind() == reflect.String {
			f.Key = len(f.Path)
			return fields(dst, t.Elem(), f.at(AnyName))
		}
	case t.Kind() == reflect.Struct:
		for x := range t.Fields() {
			name, _, _ := strings.Cut(x.Tag.Get("json"), ",")
			switch below := f.at(name); {
			case x.Anonymous && name == "":
				dst = fields(dst, x.Type, f)
			case name != "" && name != "-" && !nested(t, x.Type):
				below.In, below.Go = t, x.Name
				dst = fields(dst, x.Type, below)
			}
		}
	}
	return dst
}

func (f Field) at(name string) Field {
	f.Path = append(slices.Clip(f.Path), name)
	return f
}
