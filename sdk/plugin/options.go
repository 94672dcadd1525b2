package plugin

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/merit-rl/merit/core/fault"
)

// Problem is what a New or Vector function has against an option. The key is
// the option's path, as in "walls" or "levels.train". Return all problems at
// once with errors.Join; the user sees each with its place in the file.
func Problem(key, what, hint string) error {
	return &fault.Error{Boundary: fault.Config, Kind: fault.Invalid, Where: join("options", key), What: what, Hint: hint}
}

func join(path, key string) string {
	if path == "" || key == "" {
		return path + key
	}
	return path + "." + key
}

// decodeOptions decodes a JSON object over the struct that into points to, and
// reports every unknown key and wrong type at once.
func decodeOptions(raw json.RawMessage, into any) error {
	if len(raw) == 0 {
		return nil
	}
	return errors.Join(decodeValue("", raw, reflect.ValueOf(into).Elem())...)
}

var unmarshaler = reflect.TypeFor[json.Unmarshaler]()

func decodeValue(path string, raw json.RawMessage, v reflect.Value) []error {
	if v.Kind() == reflect.Struct && !v.Addr().Type().Implements(unmarshaler) {
		return decodeStruct(path, raw, v)
	}
	err := json.Unmarshal(raw, v.Addr().Interface())
	if err == nil {
		return nil
	}
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) {
		if wrong.Field != "" {
			path = join(path, wrong.Field)
		}
		return []error{Problem(path, fmt.Sprintf("must be %s, not %s", describe(wrong.Type), wrong.Value), "")}
	}
	return []error{Problem(path, err.Error(), "")}
}

func decodeStruct(path string, raw json.RawMessage, v reflect.Value) []error {
	var object map[string]json.RawMessage
	if err := json.Unmarshal(raw, &object); err != nil {
		return []error{Problem(path, "must be a mapping", "")}
	}
	keys := make([]string, 0, len(object))
	for key := range object {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	known, names := fields(v)
	var errs []error
	for _, key := range keys {
		at := join(path, key)
		field, ok := known[key]
		if !ok {
			errs = append(errs, Problem(at, "is not an option", "the options are "+strings.Join(names, ", ")))
			continue
		}
		errs = append(errs, decodeValue(at, object[key], field)...)
	}
	return errs
}

// fields returns the settable fields of a struct by JSON name, and the names
// in order.
func fields(v reflect.Value) (byName map[string]reflect.Value, names []string) {
	byName = make(map[string]reflect.Value)
	for i := range v.NumField() {
		f := v.Type().Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if !f.IsExported() || name == "-" {
			continue
		}
		if name == "" {
			name = f.Name
		}
		byName[name] = v.Field(i)
		names = append(names, name)
	}
	return byName, names
}

func describe(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return "a whole number"
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return "a whole number, not negative"
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.String:
		return "text"
	case reflect.Slice, reflect.Array:
		return "a list"
	default:
		return "a mapping"
	}
}
