package prompt

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// Promise: for any answer of an editor, a resulting candidate is a valid prompt: UTF-8,
// limited in size, with its placeholder, without surrounding space; anything else results in a
// sentence.
func FuzzRead(f *testing.F) {
	for _, seed := range []string{
		`{"prompt":"Say {input}"}`, `{"prompt":""}`, `{"prompt":null}`, `{"prompt":3}`, `{"prompt":"\ud800 {input}"}`, `{"Prompt":"{input}"}`,
		`{"prompt":"a","prompt":"b {input}"}`, `[]`, ``, "\xff", `{"prompt":"` + strings.Repeat("{input}", 900) + `"}`, "```json\n{}\n```",
	} {
		f.Add(seed, false)
		f.Add(seed, true)
	}
	f.Fuzz(func(t *testing.T, said string, cut bool) {
		s := &search{Settings: Settings{Config: DefaultConfig()}}
		s.Place = Template
		text, wrong := s.read(Entry{Text: said, Cut: cut})
		if wrong != "" {
			if text != "" {
				t.Fatalf("%q is wrong (%s) and taken", text, wrong)
			}
			return
		}
		if !utf8.ValidString(text) || len(text) > s.MaxPrompt || !strings.Contains(text, Input) || strings.TrimSpace(text) != text {
			t.Fatalf("%q is taken", text)
		}
	})
}
