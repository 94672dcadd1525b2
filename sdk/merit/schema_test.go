package merit_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/sdk/merit"
)

// compiled is the schema of the configuration as an editor's validator reads it.
func compiled(t *testing.T) (*jsonschema.Schema, map[string]any) {
	t.Helper()
	text, err := merit.Schema()
	require.NoError(t, err)
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	require.NoError(t, err)
	c := jsonschema.NewCompiler()
	require.NoError(t, c.AddResource("train.schema.json", doc))
	s, err := c.Compile("train.schema.json")
	require.NoError(t, err)
	return s, doc.(map[string]any)
}

// exponents are the numbers that the YAML reader of this test takes for text.
var exponents = regexp.MustCompile(`\b(\d+)(e-\d+)\b`)

// Promise: editors get a schema that takes the configurations that Merit takes,
// in every part, and no key that Merit does not know.
func TestSchema(t *testing.T) {
	s, _ := compiled(t)
	read := func(path string) map[string]any {
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		var v map[string]any
		require.NoError(t, yaml.Unmarshal(exponents.ReplaceAll(data, []byte("$1.0$2")), &v))
		return v
	}
	for _, path := range []string{filepath.Join(testneeds.Root(), "examples/sokoban/train.yaml"), filepath.Join(testneeds.Root(), "cmd/merit/testdata/tiny.yaml")} {
		v := read(path)
		require.NoError(t, s.Validate(v), path)
		v["environment"].(map[string]any)["plugins"] = "misspelt"
		v["policy"] = map[string]any{"hidden": []any{"many"}}
		v["sandbox"] = map[string]any{"fuel": "much", "isolation": uint64(1)}
		err := s.Validate(v)
		for _, problem := range []string{"additional properties 'plugins' not allowed", "at '/policy/hidden/0': got string", "at '/sandbox/fuel': got string", "at '/sandbox/isolation': got number"} {
			require.ErrorContains(t, err, problem, path)
		}
	}
}

// lenient are values that only the program refuses, for what JSON Schema cannot say.
var lenient = []string{
	"environment.limits.memory 1", "environment.limits.memory 1.0", "environment.limits.memory 2", // 0, or enough
	"environment.limits.files 1", "environment.limits.files 1.0", "environment.limits.files 2",
	"policy.limits.memory 1", "policy.limits.memory 1.0", "policy.limits.memory 2", "policy.limits.files 1", "policy.limits.files 1.0", "policy.limits.files 2",
	"environment.limits.cpu_time 1ms", "policy.limits.cpu_time 1ms",
	"ppo.dual_clip 0.5", "ppo.dual_clip 1", "fleet.replicas 2", // 0, or above 1; odd
	"evidence.iterate 0.5", "evidence.iterate 1", "evidence.iterate 2", "evidence.iterate 1000000000", // at most evidence.promote
	"ppo.kl_control.target 0.5", "ppo.kl_control.target 1", "ppo.kl_control.target 2", // without ppo.kl_coefficient
}

// probes are values at and beyond the usual bounds of a key with the schema p.
func probes(p map[string]any) []string {
	switch pattern, _ := p["pattern"].(string); {
	case pattern != "":
		return []string{"0", "0s", "1ms", "1s", "-1s", "1000h"}
	case p["type"] == "integer":
		return []string{"-1", "0", "1", "1.0", "2", "2.5", "1000000000"}
	case p["type"] == "number":
		return []string{"-1", "-0.5", "0", "0.5", "1", "2", "1000000000"}
	case p["enum"] != nil:
		return []string{"zzz"}
	}
	return nil
}

// Promise: an editor marks the values that Merit refuses, and no others.
func TestSchemaAgreesWithProgram(t *testing.T) {
	s, root := compiled(t)
	var visit func(p map[string]any, path []string)
	visit = func(p map[string]any, path []string) {
		properties, _ := p["properties"].(map[string]any)
		for name, below := range properties {
			visit(below.(map[string]any), append(slices.Clip(path), name))
		}
		key := strings.Join(path, ".")
		for _, value := range probes(p) {
			text := value
			for _, name := range slices.Backward(path) {
				text = fmt.Sprintf("{%s: %s}", name, text)
			}
			var v any
			require.NoError(t, yaml.Unmarshal([]byte(text), &v))
			_, err := merit.ParseConfig("train.yaml", []byte(text), ".")
			refused := err != nil && strings.Contains(err.Error(), key+":")
			if probe := key + " " + value; refused != (s.Validate(v) != nil) && !slices.Contains(lenient, probe) {
				t.Errorf("%s: Merit refuses it: %t (%v); the schema: %v", probe, refused, err, s.Validate(v))
			}
		}
	}
	visit(root, nil)
}

// Promise: an editor can say of every key what it means, and offers every word
// of the keys that take a closed set, with the default among them.
func TestSchemaExplains(t *testing.T) {
	text, err := merit.Schema()
	require.NoError(t, err)
	var root property
	require.NoError(t, json.Unmarshal(text, &root))
	words := map[string][]string{}
	root.walk("", func(at string, p property) {
		require.NotEmpty(t, p.Description, at)
		if p.Enum != nil {
			words[at] = p.Enum
			require.Contains(t, p.Enum, p.Default, at)
		}
	})
	for key, list := range merit.Words() {
		require.Equal(t, list, words[key], key)
	}
	for key, some := range map[string]string{
		"advantage.estimator": "gigpo", "sandbox.isolation": "process", "ppo.schedule.kind": "linear", "policy.activation": "relu",
		"rollout.anchor": "text", "policy.ngrams.unit": "words", "ppo.kl_reference": "initial",
	} {
		require.Contains(t, words[key], some, key)
	}
	defaults := merit.DefaultConfig()
	require.EqualValues(t, defaults.Rollout.Groups, root.Properties["rollout"].Properties["groups"].Default)
	require.Equal(t, defaults.Sandbox.WallClock.String(), root.Properties["sandbox"].Properties["wall_clock"].Default)
	require.EqualValues(t, 1, root.Properties["rewards"].Items.Properties["weight"].Default)
}

type property struct {
	Description string              `json:"description"`
	Default     any                 `json:"default"`
	Enum        []string            `json:"enum"`
	Properties  map[string]property `json:"properties"`
	Items       *property           `json:"items"`
}

func (p property) walk(at string, visit func(at string, p property)) {
	for key, child := range p.Properties {
		path := strings.TrimPrefix(at+"."+key, ".")
		visit(path, child)
		child.walk(path, visit)
		if child.Items != nil {
			child.Items.walk(path+"[]", visit)
		}
	}
}
