package plugin

import (
	"encoding/json"
	"reflect"
	"strings"
	"time"

	"github.com/merit-rl/merit/internal/base/strictjson"
)

// The words of problems are those of a configuration file, which is where
// options are written, not those of JSON, which is how they travel.
const section = "a section with keys below it"

// wanted names what an option of type t takes.
func wanted(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return "a whole number"
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return "a whole number that is not negative"
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.String:
		return "text"
	case reflect.Slice, reflect.Array:
		return "a list"
	default:
		return section
	}
}

// found names what stands in raw where another type belongs: the value itself
// if it is short, for that is what the user searches the file for.
func found(raw json.RawMessage, wrong *strictjson.Error) string {
	number, is := strings.CutPrefix(wrong.Kind, "the number ")
	switch {
	case wrong.Kind == "an object":
		return "a section"
	case wrong.Kind == "an array":
		return "a list"
	case is:
		return number
	case len(raw) <= 60 && raw[0] != '[' && raw[0] != '{':
		return string(raw)
	case wrong.Kind == "a boolean":
		return "true or false"
	case wrong.Kind == "a string":
		return "text"
	default:
		return wrong.Kind
	}
}

// defaultHint says which value an option has that is not set.
func defaultHint(v reflect.Value) string {
	value, err := json.Marshal(v.Addr().Interface())
	if err != nil || v.IsZero() || len(value) > 60 {
		return "correct it, or remove the key to have the default"
	}
	return "the default is " + string(value)
}

// shown is what an option is as a configuration writes it, for JSON.
func shown(v reflect.Value) any {
	switch t := v.Type(); {
	case t == duration:
		return v.Interface().(time.Duration).String()
	case t.Kind() == reflect.Struct && !reflect.PointerTo(t).Implements(unmarshaler):
		all := map[string]any{}
		known, _ := fields(v)
		for name, field := range known {
			all[name] = shown(field)
		}
		return all
	}
	return v.Interface()
}
