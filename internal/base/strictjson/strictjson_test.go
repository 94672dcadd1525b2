package strictjson_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/internal/base/strictjson"
)

type row struct {
	Messages []struct {
		Content string  `json:"content"`
		Weight  float64 `json:"weight"`
	} `json:"messages"`
	Truth string `json:"ground_truth"`
}

// Promise: a name counts only as it is spelled; twice, at any depth, is an error
// that names it, and so are text that is not UTF-8 and values that are too deep.
func TestStrict(t *testing.T) {
	var r row
	require.NoError(t, strictjson.Unmarshal([]byte(`{"Messages":[{"content":"a"}],"meſſages":1,"GROUND_TRUTH":"x","ground_truth":"y"}`), &r))
	require.Equal(t, row{Truth: "y"}, r)
	for text, want := range map[string]string{
		`{"ground_truth":"a","ground_truth":"b"}`:                      "ground_truth is given twice",
		`{"ground_truth":"a","ground_\u0074ruth":"b"}`:                 "ground_truth is given twice",
		`{"messages":[{"content":"a"},{"content":"a","content":"b"}]}`: "messages[1].content is given twice",
		`{"other":{"deep":[{"x":1,"x":1}]}}`:                           "other.deep[0].x is given twice",
		`{"messages":[{"content":7}]}`:                                 "messages[0].content must not be a number",
		`{"messages":[{"weight":1e999}]}`:                              "messages[0].weight must not be the number 1e999",
		`{"messages":{}}`:                                              "messages must not be an object",
		`[1]`:                                                          "must not be an array",
		"{\"ground_truth\":\"\xff\"}":                                  "the text is not UTF-8",
		`{"ground_truth":`:                                             "unexpected end of JSON input",
		`{"ground_truth":}`:                                            "invalid character",
		`{} {}`:                                                        "invalid character",
		strings.Repeat("[", 2000) + strings.Repeat("]", 2000):          "nested more than 1000 deep",
	} {
		require.ErrorContains(t, strictjson.Unmarshal([]byte(text), &r), want, text)
	}
	require.NoError(t, strictjson.Unmarshal([]byte(`{"ground_truth":"\ud800"}`), &r), "Python writes halves of pairs")
	require.Equal(t, "\uFFFD", r.Truth)
	require.ErrorContains(t, strictjson.UnmarshalKnown([]byte(`{"messages":[{"contnt":"a"}]}`), &r), "messages[0].contnt is not a field")
	require.ErrorContains(t, strictjson.Check([]byte(`{"a":1,"a":1}`)), "a is given twice")
	require.NoError(t, strictjson.Check([]byte(` {"a":[1,{"b":null}]} `)))
	require.Error(t, strictjson.Check([]byte(`{} 1`)))
}

// Promise: no text makes the decoder panic. What it takes, encoding/json takes
// too, and for the same value; Check and Unmarshal take the same.
func FuzzUnmarshal(f *testing.F) {
	for _, s := range []string{`{"a":1,"b":[null,true,-0.5e3,"\u00e4\ud800"]}`, `{"a":1,"a":2}`, `{"a":1}x`, "\xff", `[1,]`, `1e999`} {
		f.Add([]byte(s))
	}
	for _, open := range []string{"[", `{"a":`, `[{"a":`} {
		f.Add([]byte(strings.Repeat(open, 100_000)))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var strict, loose any
		err := strictjson.Unmarshal(text, &strict)
		if checked := strictjson.Check(text); err == nil && checked != nil {
			t.Fatalf("Unmarshal takes what Check refuses: %v", checked)
		}
		if err != nil {
			require.Less(t, len(err.Error()), 10_000+len(text))
			return
		}
		require.NoError(t, json.Unmarshal(text, &loose))
		require.Equal(t, loose, strict)
	})
}

// Promise: values that are equal get one text, and what is not JSON stays unchanged.
func TestShortAndCanonical(t *testing.T) {
	for text, want := range map[string][2]string{
		`{"b": [1, 2.0], "a": "\u00e4\/"}`: {`{"b":[1,2.0],"a":"ä/"}`, `{"a":"ä/","b":[1,2]}`},
		`{"a": 1`:                          {`{"a": 1`, `{"a": 1`},
		``:                                 {``, ``},
		"\xff":                             {"\xff", "\xff"},
	} {
		require.Equal(t, want, [2]string{strictjson.Short(text), strictjson.Canonical(text)}, text)
	}
}
