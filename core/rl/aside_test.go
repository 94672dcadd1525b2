package rl

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// asides are conversations with contents that are long enough to be set aside,
// and what may keep them from it.
func asides() []string {
	long := strings.Repeat(`a \"b\" é\n `, 20)
	message := func(fields string) string { return `{"id": "x", "messages": [{"role": "user", ` + fields + `}]}` }
	return []string{
		message(`"content": "` + long + `"`),
		message(`"content":"` + long + `", "name": "n"`),
		message(`"content": "` + long + `\u00e9"`),
		message(`"content": "` + long + `\\"`),
		message(`"content": "` + long + "\x01" + `"`),
		message(`"content": "` + long + "\xff" + `"`),
		message(`"content": "` + long + `\q"`),
		message(`"content": "` + long + `", "content": "short"`),
		message(`"content": "short", "content": "` + long + `"`),
		message(`"content": "` + long + `", "Content": "other"`),
		message(`"content": "` + long + `", "conten\u0074": "other"`),
		message(`"content": "` + long + `", "tool_calls": [{"id": "1", "function": {"name": "f", "arguments": "{}"}}]`),
		message(`"content": [{"type": "text", "text": "` + long + `", "content": "` + long + `"}]`),
		message(`"content": null`),
		message(`"content": "` + long),
		message(`"content" "` + long + `"`),
		message(`"content": "` + long + `"]`),
		`{"messages": [null, {"role": "user", "content": "` + long + `"}, {"role": "user"}, {"role": "user", "content": "` + long + `"}]}`,
		`{"messages": [{"role": "user", "content": "` + long + `"}], "messages": [{"name": "n"}]}`,
		`{"messages": [{"role": "user", "content": "` + long + `"}], "meſſages": [{"name": "n"}]}`,
		`{"messages": [{"role": "user", "content": "` + long + `"}], "me\u0073sages": [{"name": "n"}]}`,
		`{"Messages": [{"role": "user", "content": "` + long + `"}]}`,
		`{"messages": {"content": "` + long + `"}}`,
		`{"messages": [[{"content": "` + long + `"}]]}`,
		`{"messages": null, "metadata": {"a": [{"content": "` + long + `"}]}}`,
		`{"ground_truth": [{"messages": [{"content": "` + long + `"}]}], "messages": [{"role": "user", "content": "` + long + `"}]}`,
		`[{"messages": [{"content": "` + long + `"}]}]`,
		`{"messages": [{"role": "user", "content": "` + long + `"}]} {}`,
		`"` + long + `"`,
		`"messages": [{"content": "` + long + `"}]`,
		"",
	}
}

func requireAside(t *testing.T, text string) {
	var want, got Trajectory
	wrong := json.Unmarshal([]byte(text), &want)
	err := got.unmarshal([]byte(text))
	require.Equal(t, wrong, err)
	require.Equal(t, want, got)
}

// Promise: a trajectory whose contents are set aside while it is decoded is the
// one that encoding/json makes, and so are the errors.
func TestAside(t *testing.T) {
	for _, text := range asides() {
		requireAside(t, text)
	}
	plain := aside{text: []byte(asides()[0])}
	require.True(t, plain.walk())
	require.Len(t, plain.contents, 1)
}

func FuzzAside(f *testing.F) {
	for _, text := range asides() {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) { requireAside(t, text) })
}

func BenchmarkDecodeTrajectory(b *testing.B) {
	content := strings.Repeat("She sells the remainder at the farmers' market daily for $2 per egg. \\n", 18)
	text := []byte(`{"id": "x", "ground_truth": "18", "messages": [` + strings.Repeat(`{"role": "user", "content": "`+content+`"}, `, 3) + `{"role": "assistant", "content": "` + content + `"}]}`)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if _, err := DecodeTrajectory(text, 1); err != nil {
			b.Fatal(err)
		}
	}
}
