package config

import (
	"encoding/json"
	"path"
	"reflect"
	"time"

	"github.com/invopop/jsonschema"
)

// Schema returns the JSON Schema of a configuration that is read into v, for
// editors:
//
//	# yaml-language-server: $schema=train.schema.json
func Schema(v any, title string) ([]byte, error) {
	r := &jsonschema.Reflector{
		FieldNameTag: "yaml", ExpandedStruct: true, RequiredFromJSONSchemaTags: true,
		Anonymous: true,
		Namer: func(t reflect.Type) string {
			if t.Name() == "" {
				return "" // lists and maps stand where they are used
			}
			return path.Base(t.PkgPath()) + "." + t.Name()
		},
		Mapper: func(t reflect.Type) *jsonschema.Schema {
			if t == reflect.TypeFor[time.Duration]() {
				return &jsonschema.Schema{Type: "string", Description: "a duration such as 30s or 5m", Pattern: `^([0-9.]+(ns|us|µs|ms|s|m|h))+$|^0$`}
			}
			return nil
		},
	}
	s := r.Reflect(v)
	s.Title = title
	return json.MarshalIndent(s, "", "  ")
}
