package telemetry

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/merit-rl/merit/core/run"
)

// Scalar is one number of a record.
type Scalar struct {
	// Path is the path to the number: the names of JSON fields, map keys and names of
	// list elements.
	Path []string
	// Key is the index in Path of the last map key or element name; -1 if there is
	// none.
	Key   int
	Value float64
}

// Name joins the path with slashes.
func (s Scalar) Name() string { return strings.Join(s.Path, "/") }

// Iteration returns the numbers of an iteration, in the order of its fields and sorted
// keys. It omits the fields that metrics.jsonl omits.
func Iteration(it run.Iteration) []Scalar { return walk(nil, reflect.ValueOf(it), nil, -1) }

// Score returns the numbers of an evaluation.
func Score(s run.Score) []Scalar { return walk(nil, reflect.ValueOf(s), nil, -1) }

// walk appends the numbers below v. It works by kinds, not names, so that it includes
// new fields of a record.
func walk(dst []Scalar, v reflect.Value, path []string, key int) []Scalar {
	number := func(x float64) []Scalar { return append(dst, Scalar{Path: path, Key: key, Value: x}) }
	switch {
	case v.Kind() == reflect.Pointer:
		if v.IsNil() {
			return dst
		}
		return walk(dst, v.Elem(), path, key)
	case v.Type() == reflect.TypeFor[run.Interval]():
		dst = walk(dst, v.Index(0), at(path, "low"), key)
		return walk(dst, v.Index(1), at(path, "high"), key)
	case v.CanFloat():
		return number(v.Float())
	case v.CanInt():
		return number(float64(v.Int()))
	case v.CanUint():
		return number(float64(v.Uint()))
	case v.Kind() == reflect.Bool && v.Bool():
		return number(1)
	case v.Kind() == reflect.Bool:
		return number(0)
	case v.Kind() == reflect.Map && v.Type().Key().Kind() == reflect.String:
		keys := map[string]reflect.Value{}
		for _, k := range v.MapKeys() {
			keys[k.String()] = v.MapIndex(k)
		}
		for _, k := range slices.Sorted(maps.Keys(keys)) {
			dst = walk(dst, keys[k], at(path, k), len(path))
		}
	case v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.Struct:
		for i := range v.Len() {
			if name := nameOf(v.Index(i)); name != "" {
				dst = walk(dst, v.Index(i), at(path, name), len(path))
			}
		}
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			name, options, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
			switch {
			case name == "" || name == "-" || nested(v.Type(), v.Field(i).Type()):
			case (options == "omitempty" || options == "omitzero") && v.Field(i).IsZero():
			default:
				dst = walk(dst, v.Field(i), at(path, name), key)
			}
		}
	}
	return dst
}

// nested reports whether a field of t lists structs of the same type, such as the rewards of a
// chain: they describe parts of what t measures and have no other numbers.
func nested(t, field reflect.Type) bool { return field == reflect.SliceOf(t) }

// nameOf returns the name of a list element, if it has one.
func nameOf(v reflect.Value) string {
	f := v.FieldByName("Name")
	if !f.IsValid() || f.Kind() != reflect.String {
		return ""
	}
	return f.String()
}

// at returns a copy of path with one more element.
func at(path []string, name string) []string { return append(slices.Clip(path), name) }
