package plugin

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/base/strictjson"
)

// Problem returns an error about an option, for a Check, New or Vector
// function. key is the option's path, as in "walls" or "levels.train". Return
// all problems at once, as Problems does; the user sees each with the file and
// line that set the option.
func Problem(key, what, hint string) error {
	return &fault.Error{Boundary: fault.Config, Kind: fault.Invalid, Where: join("options", key), What: what, Hint: hint}
}

// Problems collects the problems that a Check finds, so that the user sees all
// of them at once. The zero value is ready to use.
type Problems []error

// Add adds a problem with the option at key.
func (p *Problems) Add(key, hint, what string, args ...any) {
	*p = append(*p, Problem(key, fmt.Sprintf(what, args...), hint))
}

// Split adds a problem unless split is train, validation or test.
func (p *Problems) Split(split string) {
	if splits := []string{Train, Validation, Test}; !slices.Contains(splits, split) {
		*p = append(*p, fmt.Errorf("split %q is not one of %s", split, strings.Join(splits, ", ")))
	}
}

// Shares adds a problem with the option shares if s leaves a split without
// tasks. The hint recommends the share each.
func (p *Problems) Shares(s Shares, each float64) {
	if !s.Valid() {
		p.Add("shares", fmt.Sprintf("set validation and test to %v each", each), "validation %v and test %v must be positive and add up to less than 1", s.Validation, s.Test)
	}
}

// Err returns all problems, or nil.
func (p Problems) Err() error { return errors.Join(p...) }

func join(path, key string) string {
	if path == "" || key == "" {
		return path + key
	}
	return path + "." + key
}

// OptionsJSON returns the default options, as a configuration writes them.
func (d Definition[Options]) OptionsJSON() (json.RawMessage, error) { return optionsJSON(d.Defaults) }

// OptionsJSON returns the default options, as a configuration writes them.
func (d PolicyDefinition[Options]) OptionsJSON() (json.RawMessage, error) {
	return optionsJSON(d.Defaults)
}

func optionsJSON(defaults any) (json.RawMessage, error) {
	return json.Marshal(shown(reflect.ValueOf(defaults)))
}

// decodeOptions decodes a JSON object over the struct that into points to, and
// reports all unknown keys and wrong types at once. A wrong option keeps its
// default.
func decodeOptions(raw json.RawMessage, into any) []error {
	if len(raw) == 0 {
		return nil
	}
	return decodeValue("", raw, reflect.ValueOf(into).Elem())
}

var (
	unmarshaler = reflect.TypeFor[json.Unmarshaler]()
	duration    = reflect.TypeFor[time.Duration]()
)

func decodeValue(path string, raw json.RawMessage, v reflect.Value) []error {
	own := v.Addr().Type().Implements(unmarshaler)
	switch {
	case string(raw) == "null" && path != "":
		return []error{Problem(path, "has no value", "set one, or remove the key to use the default")}
	case v.Type() == duration:
		return decodeDuration(path, raw, v)
	case v.Kind() == reflect.Struct && !own:
		return decodeStruct(path, raw, v)
	case v.Kind() == reflect.Map && v.Type().Key().Kind() == reflect.String && !own:
		return decodeMap(path, raw, v)
	}
	value := reflect.New(v.Type())
	value.Elem().Set(v)
	err := strictjson.Unmarshal(raw, value.Interface())
	if err == nil {
		v.Set(value.Elem())
		return nil
	}
	what, hint := err.Error(), defaultHint(v)
	if wrong := new(strictjson.Error); errors.As(err, &wrong) && wrong.Kind != "" {
		path, what = join(path, wrong.Path), fmt.Sprintf("must be %s, not %s", wanted(wrong.Type), found(raw, wrong))
	}
	return []error{Problem(path, what, hint)}
}

// decodeDuration decodes a duration as a configuration writes it.
func decodeDuration(path string, raw json.RawMessage, v reflect.Value) []error {
	var text string
	if string(raw) == "0" {
		text = "0s"
	} else if strictjson.Unmarshal(raw, &text) != nil {
		text = string(raw)
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		return []error{Problem(path, fmt.Sprintf("must be a duration such as 30s or 5m, not %s", raw), fmt.Sprintf("the default is %v", v.Interface()))}
	}
	v.SetInt(int64(d))
	return nil
}

func decodeStruct(path string, raw json.RawMessage, v reflect.Value) []error {
	object, keys, err := decodeObject(path, raw)
	if err != nil {
		return []error{err}
	}
	known, names := fields(v)
	var errs []error
	for _, key := range keys {
		at := join(path, key)
		if field, ok := known[key]; ok {
			errs = append(errs, decodeValue(at, object[key], field)...)
			continue
		}
		hint := "the options are " + strings.Join(names, ", ")
		if nearest := fault.Nearest(key, names); nearest != "" {
			hint = fmt.Sprintf("did you mean %s?", nearest)
		}
		errs = append(errs, Problem(at, "is not an option", hint))
	}
	return errs
}

func decodeMap(path string, raw json.RawMessage, v reflect.Value) []error {
	object, keys, err := decodeObject(path, raw)
	if err != nil {
		return []error{err}
	}
	var errs []error
	whole := reflect.MakeMap(v.Type()) // everything that opens the environment shares the map of the defaults
	for it := v.MapRange(); it.Next(); {
		whole.SetMapIndex(it.Key(), it.Value())
	}
	for _, key := range keys {
		value := reflect.New(v.Type().Elem()).Elem()
		errs = append(errs, decodeValue(join(path, key), object[key], value)...)
		whole.SetMapIndex(reflect.ValueOf(key).Convert(v.Type().Key()), value)
	}
	if len(errs) == 0 {
		v.Set(whole)
	}
	return errs
}

// twice reports whether an object has a key twice.
func twice(err error) bool {
	var wrong *strictjson.Error
	return errors.As(err, &wrong) && wrong.Twice
}

// decodeObject returns the values of a JSON object and its sorted keys.
func decodeObject(path string, raw json.RawMessage) (object map[string]json.RawMessage, keys []string, err error) {
	if err := strictjson.Unmarshal(raw, &object); twice(err) {
		return nil, nil, Problem(path, err.Error(), "keep one of them")
	} else if err != nil {
		return nil, nil, Problem(path, "must be "+section, "write its keys on the following lines, indented")
	}
	for key := range object {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return object, keys, nil
}

// fields returns the settable fields of a struct by JSON name, and the names in
// order, including the fields of embedded structs.
func fields(v reflect.Value) (byName map[string]reflect.Value, names []string) {
	byName = make(map[string]reflect.Value)
	for i := range v.NumField() {
		f := v.Type().Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if !f.IsExported() || name == "-" {
			continue
		}
		if f.Anonymous && name == "" && f.Type.Kind() == reflect.Struct {
			inner, more := fields(v.Field(i))
			maps.Copy(byName, inner)
			names = append(names, more...)
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
