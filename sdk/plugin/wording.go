package plugin

import (
	"encoding/json"
	"reflect"
	"strings"
	"time"

	"github.com/merit-rl/merit/internal/base/strictjson"
)

// Problems use the terms of a configuration file, in which users write options, not
// those of JSON, in which they are sent.
const section = "a section with keys below it"

// wanted names the kind of value that an option of type t takes.
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

// found names the value in raw that has the wrong type. It is the value itself
// if that is short, because users search the file for it.
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

// defaultHint returns a hint that names the default of an option.
func defaultHint(v reflect.Value) string {
	value, err := json.Marshal(v.Addr().Interface())
	if err != nil || v.IsZero() || len(value) > 60 {
		return "correct it, or remove the key to use the default"
	}
	return "the default is " + string(value)
}

// shown returns the value of an option for JSON, in the form of a
// configuration.
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
