package config

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/merit-rl/merit/core/fault"
)

// Sections is a struct with fields of an interface type. Each holds a pointer to
// the struct of a section, of the type that a feature has registered. Such a field has the tag section:"required" if it is filled before a text is decoded,
// and section:"optional" if the section is made when the text has its key.
type Sections interface {
	// NewSection returns a pointer to the section at key with its defaults, or nil
	// if none is registered.
	NewSection(key string) any
}

// fields are the keys of a section, in the order of the struct.
type fields struct {
	names  []string
	values []reflect.Value
	tags   []reflect.StructTag
	parent reflect.Type
}

func fieldsOf(v reflect.Value) (f fields) {
	f.parent = v.Type()
	for i := range v.NumField() {
		field := v.Type().Field(i)
		name, options, _ := strings.Cut(field.Tag.Get("yaml"), ",")
		switch {
		case !field.IsExported() || name == "-":
		case strings.Contains(options, "inline"):
			inner := fieldsOf(v.Field(i))
			f.names = append(f.names, inner.names...)
			f.values = append(f.values, inner.values...)
			f.tags = append(f.tags, inner.tags...)
		default:
			if name == "" {
				name = strings.ToLower(field.Name)
			}
			f.names = append(f.names, name)
			f.values = append(f.values, settled(v.Field(i), field.Tag))
			f.tags = append(f.tags, field.Tag)
		}
	}
	return f
}

// settled returns the struct of a registered section that is always present, and
// any other value unchanged.
func settled(v reflect.Value, tag reflect.StructTag) reflect.Value {
	if tag.Get("section") == "required" && !v.IsNil() {
		return v.Elem().Elem()
	}
	return v
}

func (f fields) get(name string) (reflect.Value, bool) {
	for i, n := range f.names {
		if n == name {
			return f.values[i], true
		}
	}
	return reflect.Value{}, false
}

// section returns a pointer to a new section for the field called name, or nil if
// none is registered.
func (f fields) section(name string) any {
	if parent, ok := reflect.New(f.parent).Interface().(Sections); ok {
		return parent.NewSection(name)
	}
	return nil
}

// suggest suggests the key that the user probably meant.
func suggest(key string, names []string) string {
	if best := fault.Nearest(key, names); best != "" {
		return fmt.Sprintf("did you mean %s?", best)
	}
	return "the keys here are " + strings.Join(names, ", ")
}
