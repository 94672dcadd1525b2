package plugins

import (
	"encoding/json"
	"reflect"
	"strings"
	"time"

	"github.com/merit-rl/merit/core/fault"
)

var (
	duration    = reflect.TypeFor[time.Duration]()
	unmarshaler = reflect.TypeFor[json.Unmarshaler]()
)

// describe adds to the schema of options, which was made from their defaults, what only their
// type t knows: the tag doc, which says what an option is for, closed sets of words, and the
// options of which the default does not show what else they take.
func describe(schema map[string]any, t reflect.Type) {
	properties, _ := schema["properties"].(map[string]any)
	for field := range t.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if field.Anonymous && name == "" && field.Type.Kind() == reflect.Struct {
			describe(schema, field.Type)
			continue
		}
		p, ok := properties[name].(map[string]any)
		if !ok {
			continue
		}
		if doc := field.Tag.Get("doc"); doc != "" {
			p["description"] = doc
		}
		if words := fault.Words(field.Tag); words != nil {
			p["enum"] = words
		}
		loosen(p, field.Type)
	}
	if properties != nil {
		schema["additionalProperties"] = false
	}
}

// loosen corrects the schema p of an option of type t.
func loosen(p map[string]any, t reflect.Type) {
	switch {
	case t == duration:
		delete(p, "type")
		p["anyOf"] = []any{map[string]any{"type": "string"}, map[string]any{"type": "integer"}} // 10s, or 0
	case reflect.PointerTo(t).Implements(unmarshaler), t.Kind() == reflect.Interface, t.Kind() == reflect.Pointer:
		delete(p, "type") // it reads itself
		delete(p, "properties")
	case t.Kind() == reflect.Map:
		p["type"] = "object"
		delete(p, "properties") // of the default
	case t.Kind() == reflect.Slice:
		p["type"] = "array"
	case reflect.Zero(t).CanInt() || reflect.Zero(t).CanUint():
		p["type"] = "integer"
	case t.Kind() == reflect.Struct:
		describe(p, t)
	}
	if p["default"] == nil {
		delete(p, "default")
	}
}
