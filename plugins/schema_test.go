package plugins_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/internal/host/disk"
	tiles "github.com/merit-rl/merit/plugins/internal/2048"
	"github.com/merit-rl/merit/plugins/internal/dataset"
	"github.com/merit-rl/merit/plugins/internal/frozenlake"
	"github.com/merit-rl/merit/plugins/internal/grid"
	"github.com/merit-rl/merit/plugins/internal/htdag"
	"github.com/merit-rl/merit/plugins/internal/mcp"
	"github.com/merit-rl/merit/plugins/internal/openenv"
	"github.com/merit-rl/merit/plugins/internal/rubric"
	"github.com/merit-rl/merit/plugins/internal/sokoban"
	"github.com/merit-rl/merit/plugins/internal/toolbox"
	"github.com/merit-rl/merit/sdk/merit"
	_ "github.com/merit-rl/merit/sdk/merit/standard"
	"github.com/merit-rl/merit/sdk/plugin"
)

// compiled is a schema as an editor's validator reads it.
func compiled(t *testing.T, text []byte) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	require.NoError(t, err)
	c := jsonschema.NewCompiler()
	require.NoError(t, c.AddResource("a.schema.json", doc))
	s, err := c.Compile("a.schema.json")
	require.NoError(t, err)
	return s
}

func value(t *testing.T, text string) (v any) {
	t.Helper()
	require.NoError(t, yaml.Unmarshal([]byte(text), &v))
	return v
}

// exponents are the numbers that the YAML reader of this test takes for text.
var exponents = regexp.MustCompile(`\b(\d+)(e-\d+)\b`)

// Promise: the schema of a configuration knows the options of the built-in environments, under
// environment.mcp, environment.options and environment.harbor: it accepts every example, and
// an editor marks a key that does not exist, a word that is not allowed and a wrong type.
func TestSchemaKnowsOptions(t *testing.T) {
	text, err := merit.Schema()
	require.NoError(t, err)
	s := compiled(t, text)
	files, err := filepath.Glob(filepath.Join(testneeds.Root(), "examples/*/*.yaml"))
	require.NoError(t, err)
	seen := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		if !regexp.MustCompile(`(?m)^environment:`).Match(text) {
			continue
		}
		seen++
		require.NoError(t, s.Validate(value(t, exponents.ReplaceAllString(string(text), "$1.0$2"))), file)
	}
	require.Greater(t, seen, 20)
	for wrong, what := range map[string]string{
		"mcp: {commnd: python3}":                                             "additional properties 'commnd' not allowed",
		"mcp: {mode: written}":                                               "/environment/mcp/mode",
		"mcp: {limits: {calls: many}}":                                       "/environment/mcp/limits/calls",
		"mcp: {args: python3}":                                               "/environment/mcp/args",
		"{plugin: mcp, options: {mode: tape}}":                               "/environment/options/mode",
		"{plugin: sokoban, options: {boxs: 1}}":                              "additional properties 'boxs' not allowed",
		"{plugin: frozenlake, options: {slippery: 3}}":                       "/environment/options/slippery",
		"{harbor: ./tasks, options: {turns: 3}}":                             "additional properties 'turns' not allowed",
		"{harbor: ./tasks, options: {max_steps: lots}}":                      "/environment/options/max_steps",
		"{plugin: openenv, options: {url: 'http://x', reset_timeout: true}}": "/environment/options/reset_timeout",
	} {
		require.ErrorContains(t, s.Validate(value(t, "environment: "+strings.ReplaceAll(wrong, "mcp: {", "{mcp: {")+strings.Repeat("}", strings.Count(wrong, "mcp: {")))), what, wrong)
	}
	for _, right := range []string{"{plugin: ./my-own, options: {anything: 1}}", "{mcp: {limits: {call: 0}}}", "{harbor: ./tasks, options: {skip: true}}"} {
		require.NoError(t, s.Validate(value(t, "environment: "+right)), right)
	}
}

// opener opens an environment with options, in this process.
func opener[O any](definition func() plugin.Definition[O]) func(json.RawMessage) error {
	return func(options json.RawMessage) error {
		e, err := definition().Open(plugin.Setup{Slots: 1, Split: plugin.Train}, options)
		if err == nil {
			_ = e.Close()
		}
		return err
	}
}

// Promise: what the schema of a built-in environment's options refuses, the environment refuses
// too, for every option and values of every type.
func TestOptionsSchemaAgrees(t *testing.T) {
	openers := map[string]func(json.RawMessage) error{
		"2048": opener(tiles.Definition), "dataset": opener(dataset.Definition), "frozenlake": opener(frozenlake.Definition), "grid": opener(grid.Definition),
		"htdag": opener(htdag.Definition), "mcp": opener(mcp.Definition), "openenv": opener(openenv.Definition), "rubric": opener(rubric.Definition),
		"sokoban": opener(sokoban.Definition), "toolbox": opener(toolbox.Definition),
	}
	known := disk.BuiltinOptions("environment")
	require.Len(t, known, len(openers))
	for name, schema := range known {
		text, err := json.Marshal(schema)
		require.NoError(t, err)
		s := compiled(t, text)
		for key := range schema["properties"].(map[string]any) {
			for _, probe := range []string{`"zzz"`, `"1s"`, `1`, `0`, `1.5`, `true`, `[]`, `[1]`, `["a"]`, `{}`, `{"a": 1}`} {
				option := `{"` + key + `": ` + probe + `}`
				if s.Validate(value(t, option)) != nil {
					require.Error(t, openers[name]([]byte(option)), "%s refuses %s only in its schema", name, option)
				}
			}
		}
	}
}
