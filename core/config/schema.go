package config

import (
	"encoding/json"
	"path"
	"reflect"
	"time"

	"github.com/invopop/jsonschema"
)

// Description is what a schema says beside the types.
type Description struct {
	Title    string
	Comments map[string]string   // package.Type.Field → what the key means
	Words    map[string][]string // key path → the closed set of words that it takes
}

// Schema returns the JSON Schema of a configuration that is read into v, a
// pointer to a struct that holds the defaults.
func Schema(v any, d Description) ([]byte, error) {
	r := &jsonschema.Reflector{
		FieldNameTag: "yaml", ExpandedStruct: true, RequiredFromJSONSchemaTags: true,
		Anonymous: true, DoNotReference: true, CommentMap: d.Comments,
		Namer: func(t reflect.Type) string { return path.Base(t.PkgPath()) + "." + t.Name() },
		Mapper: func(t reflect.Type) *jsonschema.Schema {
			if t == durationType {
				return &jsonschema.Schema{Type: "string", Pattern: `^([0-9.]+(ns|us|µs|ms|s|m|h))+$|^0$`}
			}
			return nil
		},
	}
	s := r.Reflect(v)
	s.Title = d.Title
	d.complete(r, s, reflect.ValueOf(v).Elem(), "")
	return json.MarshalIndent(s, "", "  ")
}

// complete adds defaults and words to the properties of a section, and what a
// registered section is made of.
func (d Description) complete(r *jsonschema.Reflector, s *jsonschema.Schema, v reflect.Value, path string) {
	fields := fieldsOf(v)
	for i, name := range fields.names {
		p, ok := s.Properties.Get(name)
		if !ok {
			continue
		}
		at, value := join(path, name), fields.values[i]
		if _, registered := fields.tags[i].Lookup("section"); registered {
			section := fields.section(name)
			if section == nil {
				s.Properties.Delete(name)
				continue
			}
			p, value = sectionSchema(r, p, section), reflect.ValueOf(section).Elem()
			s.Properties.Set(name, p)
		}
		if t := value.Type(); t.Kind() == reflect.Pointer && t.Elem().Kind() == reflect.Struct {
			value = newElement(t.Elem()) // a section that need not be there
		}
		if value.Kind() == reflect.Struct {
			d.complete(r, p, value, at)
			continue
		}
		if elem := value.Type(); elem.Kind() == reflect.Slice && elem.Elem().Kind() == reflect.Struct {
			d.complete(r, p.Items, newElement(elem.Elem()), at+"[]")
		}
		p.Default = defaultOf(value)
		for _, word := range d.Words[at] {
			p.Enum = append(p.Enum, word)
		}
	}
}

// sectionSchema returns the schema of a section that is described as field.
func sectionSchema(r *jsonschema.Reflector, field *jsonschema.Schema, section any) *jsonschema.Schema {
	s := r.Reflect(section)
	s.Version, s.Description = "", field.Description
	return s
}

// defaultOf is the value of a key as a configuration has it; nil if there is
// none to show.
func defaultOf(v reflect.Value) any {
	switch {
	case v.Type() == durationType:
		return time.Duration(v.Int()).String()
	case v.Kind() == reflect.String && v.Len() == 0:
		return nil
	case (v.Kind() == reflect.Slice || v.Kind() == reflect.Map) && v.Len() == 0:
		return nil
	}
	return v.Interface()
}

// EachText calls visit with the key path and the value of every text in v, a
// pointer to a struct; those in lists and maps are not keys.
func EachText(v any, visit func(path string, value reflect.Value)) {
	eachKey(reflect.ValueOf(v).Elem(), "", func(path string, value reflect.Value) {
		if value.Kind() == reflect.String {
			visit(path, value)
		}
	})
}

// Keys returns the path of every key of v, a pointer to a struct, in its order.
func Keys(v any) (paths []string) {
	eachKey(reflect.ValueOf(v).Elem(), "", func(path string, _ reflect.Value) { paths = append(paths, path) })
	return paths
}

func eachKey(v reflect.Value, path string, visit func(string, reflect.Value)) {
	fields := fieldsOf(v)
	for i, name := range fields.names {
		if value := fields.values[i]; value.Kind() == reflect.Struct {
			eachKey(value, join(path, name), visit)
		} else {
			visit(join(path, name), value)
		}
	}
}
