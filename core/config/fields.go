package config

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/merit-rl/merit/core/fault"
)

// fields are the keys of a section, in the order of the struct.
type fields struct {
	names  []string
	values []reflect.Value
}

func fieldsOf(v reflect.Value) (f fields) {
	for i := range v.NumField() {
		field := v.Type().Field(i)
		name, options, _ := strings.Cut(field.Tag.Get("yaml"), ",")
		switch {
		case !field.IsExported() || name == "-":
		case strings.Contains(options, "inline"):
			inner := fieldsOf(v.Field(i))
			f.names = append(f.names, inner.names...)
			f.values = append(f.values, inner.values...)
		default:
			if name == "" {
				name = strings.ToLower(field.Name)
			}
			f.names = append(f.names, name)
			f.values = append(f.values, v.Field(i))
		}
	}
	return f
}

func (f fields) get(name string) (reflect.Value, bool) {
	for i, n := range f.names {
		if n == name {
			return f.values[i], true
		}
	}
	return reflect.Value{}, false
}

// suggest says which key was perhaps meant.
func suggest(key string, names []string) string {
	if best := fault.Nearest(key, names); best != "" {
		return fmt.Sprintf("did you mean %s?", best)
	}
	return "the keys here are " + strings.Join(names, ", ")
}
