package merit_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/sdk/merit"
)

// schema is the part of JSON Schema that ours is written in.
type schema struct {
	Ref        string            `json:"$ref"`
	Defs       map[string]schema `json:"$defs"`
	Type       string            `json:"type"`
	Properties map[string]schema `json:"properties"`
	Items      *schema           `json:"items"`
	Additional any               `json:"additionalProperties"`
}

// problems lists where v is not what the schema says.
func (s schema) problems(defs map[string]schema, at string, v any) (list []string) {
	if name, ok := strings.CutPrefix(s.Ref, "#/$defs/"); ok {
		def, found := defs[name]
		if !found {
			return []string{at + ": no definition of " + name}
		}
		return def.problems(defs, at, v)
	}
	kind := "string"
	switch v := v.(type) {
	case map[string]any:
		kind = "object"
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if p, ok := s.Properties[key]; ok {
				list = append(list, p.problems(defs, at+"."+key, v[key])...)
			} else if s.Additional == false {
				list = append(list, at+"."+key+": unknown")
			}
		}
	case []any:
		kind = "array"
		for n, item := range v {
			if s.Items != nil {
				list = append(list, s.Items.problems(defs, fmt.Sprintf("%s[%d]", at, n), item)...)
			}
		}
	case bool:
		kind = "boolean"
	case float64:
		kind = "number"
	case string: // what 5e-3 is left as without a type
		if _, err := strconv.ParseFloat(v, 64); err == nil {
			kind = "number"
		}
	case int64, uint64:
		kind = "integer"
	}
	if s.Type != "" && s.Type != kind && (s.Type != "number" || kind != "integer") {
		list = append(list, at+": "+kind+", not "+s.Type)
	}
	return list
}

// Promise: editors get a schema that takes the configurations that Merit takes,
// in every part, and no key that Merit does not know.
func TestSchema(t *testing.T) {
	text, err := merit.Schema()
	require.NoError(t, err)
	var s schema
	require.NoError(t, json.Unmarshal(text, &s))
	read := func(path string) map[string]any {
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		var v map[string]any
		require.NoError(t, yaml.Unmarshal(data, &v))
		return v
	}
	for _, path := range []string{filepath.Join(testneeds.Root(), "examples/sokoban/train.yaml"), filepath.Join(testneeds.Root(), "cmd/merit/testdata/tiny.yaml")} {
		v := read(path)
		require.Empty(t, s.problems(s.Defs, "", v), path)
		v["environment"].(map[string]any)["plugins"] = "misspelt"
		v["policy"] = map[string]any{"hidden": []any{"many"}}
		v["sandbox"] = map[string]any{"fuel": "much", "isolation": uint64(1)}
		require.Equal(t, []string{
			".environment.plugins: unknown", ".policy.hidden[0]: string, not integer",
			".sandbox.fuel: string, not integer", ".sandbox.isolation: integer, not string",
		}, s.problems(s.Defs, "", v), path)
	}
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
