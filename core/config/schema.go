package config

import (
	_ "embed"
	"encoding/json"
	"path"
	"reflect"
	"strings"
	"time"

	"github.com/invopop/jsonschema"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/base/strictjson"
)

// docs holds the comment in the source of each key: package.Type.Field → its
// comment.
//
//go:generate go run ../../cmd/internal/configdocs ../.. configdocs.json
//go:embed configdocs.json
var docs []byte

// Schema returns the JSON Schema of a configuration that is read into v, a
// pointer to a struct that holds the defaults: every key with its type, its
// default, what its comment says, and what the tags that fault.Validate reads allow. In a
// file it is named by
//
//	# yaml-language-server: $schema=train.schema.json
func Schema(title string, v any) ([]byte, error) {
	var comments map[string]string
	if err := strictjson.Unmarshal(docs, &comments); err != nil {
		return nil, err
	}
	r := &jsonschema.Reflector{
		FieldNameTag: "yaml", ExpandedStruct: true, RequiredFromJSONSchemaTags: true,
		Anonymous: true, DoNotReference: true, CommentMap: comments,
		Namer: func(t reflect.Type) string { return path.Base(t.PkgPath()) + "." + t.Name() },
		Mapper: func(t reflect.Type) *jsonschema.Schema {
			if t == durationType {
				return &jsonschema.Schema{Type: "string", Pattern: anyDuration}
			}
			return nil
		},
	}
	s := r.Reflect(v)
	s.Title = title
	complete(r, s, reflect.ValueOf(v).Elem(), "#")
	return json.MarshalIndent(s, "", "  ")
}

// The texts of a duration, and those of one that is not zero.
const (
	anyDuration      = `^([0-9.]+(ns|us|µs|ms|s|m|h))+$|^0$`
	positiveDuration = `^([0-9.]+(ns|us|µs|ms|s|m|h))*[0-9.]*[1-9][0-9.]*(ns|us|µs|ms|s|m|h)([0-9.]+(ns|us|µs|ms|s|m|h))*$`
)

// bounds adds what JSON Schema cannot tell from the type and the keywords of a
// number: that a duration may be written as the number 0, or may not be zero, and
// that an unsigned number is not negative.
func bounds(p *jsonschema.Schema, t reflect.Type, tag reflect.StructTag) {
	switch {
	case t == durationType && !fault.Allows(tag, 0):
		p.Pattern = positiveDuration
	case t == durationType:
		p.Type, p.Extras = "", map[string]any{"type": []string{"string", "integer"}}
		p.Minimum, p.Maximum = "0", "0"
	case reflect.Zero(t).CanUint() && p.Minimum == "":
		p.Minimum = "0"
	}
}

// complete adds defaults to the properties of a section at the JSON pointer at, and what
// a registered section is made of.
func complete(r *jsonschema.Reflector, s *jsonschema.Schema, v reflect.Value, at string) {
	fields := fieldsOf(v)
	for i, name := range fields.names {
		at := at + "/properties/" + name
		p, ok := s.Properties.Get(name)
		if !ok {
			continue
		}
		value := fields.values[i]
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
			complete(r, p, value, at)
			continue
		}
		if elem := value.Type(); elem.Kind() == reflect.Slice && elem.Elem().Kind() == reflect.Struct {
			complete(r, p.Items, newElement(elem.Elem()), at+"/items")
		}
		bounds(p, value.Type(), fields.tags[i])
		if p.Default = defaultOf(value); p.Enum != nil && value.Kind() == reflect.String && value.Len() == 0 {
			p.Enum = append([]any{""}, p.Enum...) // it may stay empty
		}
	}
	nested(r, s, v.Type(), at)
}

// nested adds the properties that are sections of the same type as s, which is at the JSON
// pointer at. The reflector must leave them out: it would never end.
func nested(r *jsonschema.Reflector, s *jsonschema.Schema, t reflect.Type, at string) {
	for f := range t.Fields() {
		if f.Type == reflect.PointerTo(t) {
			name, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
			s.Properties.Set(name, &jsonschema.Schema{Ref: at, Description: r.CommentMap[t.PkgPath()+"."+t.Name()+"."+f.Name]})
		}
	}
}

// sectionSchema returns the schema of a section that is described as field.
func sectionSchema(r *jsonschema.Reflector, field *jsonschema.Schema, section any) *jsonschema.Schema {
	s := r.Reflect(section)
	s.Version, s.Description = "", field.Description
	return s
}

// defaultOf returns the value of a key as a configuration writes it, or nil if
// there is none to show.
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

// Words returns the closed set of words of every key of v, a pointer to a struct,
// that has one, by key path.
func Words(v any) map[string][]string {
	words := map[string][]string{}
	eachKey(reflect.ValueOf(v).Elem(), "", func(path string, value reflect.Value, tag reflect.StructTag) {
		if list := fault.Words(tag); list != nil && value.Kind() == reflect.String {
			words[path] = list
		}
	})
	return words
}

// Keys returns the path of every key of v, a pointer to a struct, in its order.
func Keys(v any) (paths []string) {
	eachKey(reflect.ValueOf(v).Elem(), "", func(path string, _ reflect.Value, _ reflect.StructTag) { paths = append(paths, path) })
	return paths
}

func eachKey(v reflect.Value, path string, visit func(string, reflect.Value, reflect.StructTag)) {
	fields := fieldsOf(v)
	for i, name := range fields.names {
		if value := fields.values[i]; value.Kind() == reflect.Struct {
			eachKey(value, join(path, name), visit)
		} else {
			visit(join(path, name), value, fields.tags[i])
		}
	}
}
