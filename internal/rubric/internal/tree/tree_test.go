package tree

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// plain is a tree as the standard library decodes it; the last of duplicate keys counts.
func plain(n *Node) any {
	switch n.Kind {
	case Object:
		m := map[string]any{}
		for _, member := range n.Members {
			m[member.Key] = plain(member.Value)
		}
		return m
	case List:
		list := []any{}
		for _, item := range n.Items {
			list = append(list, plain(item))
		}
		return list
	case Text:
		return n.Text
	case Number:
		return n.Number
	case Bool:
		return Bool
	}
	return nil
}

func deep(v any, depth int) (any, bool) {
	switch v := v.(type) {
	case map[string]any:
		for k, x := range v {
			y, ok := deep(x, depth+1)
			if v[k] = y; !ok {
				return v, false
			}
		}
	case []any:
		for i, x := range v {
			y, ok := deep(x, depth+1)
			if v[i] = y; !ok {
				return v, false
			}
		}
	case bool:
		return Bool, depth <= Depth
	}
	return v, depth <= Depth
}

// FuzzJSON: the reader accepts what the standard library accepts, with the same values, except
// for numbers out of range and for depth.
func FuzzJSON(f *testing.F) {
	for _, text := range []string{
		`{"a": [1, -2.5e-3, true, false, null, "b\n\u00e9\ud83d\ude00"], "a": {}}`, `[]`, ` 3 `, `"`, `{"a":1,}`, `01`, `1e999`, `tru`, "\"\x01\"", `"\x"`, `{"a" 1}`, `[1 2]`, `[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[]`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		n, err := JSON(text)
		var want any
		if json.Unmarshal(text, &want) != nil {
			if json.Valid(text) { // a number out of range
				return
			}
			require.Error(t, err)
			return
		}
		want, shallow := deep(want, 0)
		require.Equal(t, shallow, err == nil, "%v", err)
		if err == nil {
			require.Equal(t, want, plain(n))
		}
	})
}

// Promise: every value and key has its line.
func TestLines(t *testing.T) {
	for name, read := range map[string]func([]byte) (*Node, error){"JSON": JSON, "YAML": YAML} {
		n, err := read([]byte("{\n\"a\": [\n1,\n{\"b\":\n2}]\n}"))
		require.NoError(t, err, name)
		a := n.Members[0]
		require.Equal(t, 2, a.Line, name)
		require.Equal(t, 3, a.Value.Items[0].Line, name)
		require.Equal(t, 4, a.Value.Items[1].Members[0].Line, name)
		require.Equal(t, 5, a.Value.Items[1].Members[0].Value.Line, name)
	}
}

// Promise: YAML that would take minutes to parse is an error with its line; text in quotes or
// in a block is one token of any length.
func TestTooMuchYAML(t *testing.T) {
	for _, part := range []string{"[", "{", "- ", "{a: "} {
		_, err := YAML([]byte("a: 1\nb:\n  " + strings.Repeat(part, 80_000)))
		require.ErrorContains(t, err, "line 3: there are ", part)
	}
	n, err := YAML([]byte("a: |\n" + strings.Repeat("  b: [c, d]\n", 20_000)))
	require.NoError(t, err)
	require.Len(t, n.Members[0].Value.Text, 200_000)
}

// FuzzYAML: any text results in a tree or an error.
func FuzzYAML(f *testing.F) {
	for _, text := range []string{"a: [1, .inf, -.nan, 5e-3, 0x10]\n? b\n: c\n", "- |\n  x\n- >-\n  y\n", "&a b", "*a", "!!str 3", "a: {b: ", "---\n---\n", "<<: {}", "\t", "'", "[[[[[[", "a:\n b:\n  - c\n d"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		n, err := YAML(text)
		require.Equal(t, err == nil, n != nil)
	})
}
