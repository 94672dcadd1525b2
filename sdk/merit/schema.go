package merit

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/invopop/jsonschema"

	"github.com/merit-rl/merit/core/config"
	"github.com/merit-rl/merit/internal/base/strictjson"
	"github.com/merit-rl/merit/internal/harbor/gym"
	"github.com/merit-rl/merit/internal/host/disk"
)

// Schema returns the JSON Schema of a configuration, for editors. See
// config.Schema. It describes the options of the environments that are built into the program.
func Schema() ([]byte, error) {
	return config.Schema("Merit training configuration", DefaultConfig())
}

// Words returns the allowed words of every key that has a fixed set, by key
// path.
func Words() map[string][]string { return config.Words(DefaultConfig()) }

// Keys returns every key path of a configuration, in the order of the file.
func Keys() []string { return config.Keys(DefaultConfig()) }

// JSONSchemaExtend adds to the schema of an environment the options of the environments that
// are built into the program: of mcp as its own section, and of the others under the condition
// that plugin or harbor chooses them.
func (Environment) JSONSchemaExtend(s *jsonschema.Schema) {
	known := disk.BuiltinOptions("environment")
	for _, name := range slices.Sorted(maps.Keys(known)) {
		s.AllOf = append(s.AllOf, optionsIf("plugin", &jsonschema.Schema{Const: name}, known[name]))
	}
	if text, err := json.Marshal(gym.DefaultOptions()); err == nil {
		s.AllOf = append(s.AllOf, optionsIf("harbor", &jsonschema.Schema{MinLength: new(uint64(1))}, disk.Schema(text)))
	}
	if mcp, ok := s.Properties.Get(pluginMCP); ok && known[pluginMCP] != nil {
		own := schemaOf(known[pluginMCP])
		own.Description = mcp.Description
		s.Properties.Set(pluginMCP, own)
	}
}

// optionsIf is the condition that the section options has the schema of options if key, which
// is set, fits value.
func optionsIf(key string, value *jsonschema.Schema, options map[string]any) *jsonschema.Schema {
	is, has := jsonschema.NewProperties(), jsonschema.NewProperties()
	is.Set(key, value)
	has.Set("options", schemaOf(options))
	return &jsonschema.Schema{If: &jsonschema.Schema{Properties: is, Required: []string{key}}, Then: &jsonschema.Schema{Properties: has}}
}

// schemaOf returns a schema that is written as a manifest has it.
func schemaOf(options map[string]any) *jsonschema.Schema {
	s := new(jsonschema.Schema)
	if text, err := json.Marshal(options); err != nil || strictjson.Unmarshal(text, s) != nil {
		return new(jsonschema.Schema) // everything is allowed
	}
	return s
}
