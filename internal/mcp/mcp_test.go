package mcp_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/internal/mcp"
)

// Promise: equal JSON values have one form, whatever their keys, spaces and numbers look like,
// and a number that no float holds is an error.
func TestCanonical(t *testing.T) {
	for text, want := range map[string]string{
		` { "b" : 1.0 , "a" : [ 2e1, -0, 0.50, 12345678901234567890 ] } `: `{"a":[20,0,0.5,12345678901234567890],"b":1}`,
		`"é<"`: `"é<"`, `1e300`: `1e+300`, `null`: `null`, `9007199254740993`: `9007199254740993`,
	} {
		got, err := mcp.Canonical(json.RawMessage(text))
		require.NoError(t, err, text)
		require.Equal(t, want, string(got))
	}
	for _, text := range []string{`1e999`, `{"a":1,"a":2}`, `{`, ``, "\"\xff\"", strings.Repeat("[", 65) + strings.Repeat("]", 65)} {
		_, err := mcp.Canonical(json.RawMessage(text))
		require.Error(t, err, text)
	}
}

// Promise: a result is what a model can read: texts in order, and a line for what is not text,
// within the limit and in UTF-8.
func TestResult(t *testing.T) {
	for text, want := range map[string]mcp.Result{
		`{"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}`:                           {Text: "a\nb"},
		`{"content":[{"type":"image","mimeType":"image/png","data":"AAAA"}],"isError":true}`:            {Text: "[image image/png, 4 bytes of base64]", IsError: true},
		`{"content":[{"type":"resource","resource":{"uri":"file:///a","text":"inside"}}]}`:              {Text: "inside"},
		`{"content":[{"type":"resource","resource":{"uri":"file:///a","mimeType":"x/y","blob":"AA"}}]}`: {Text: "[resource file:///a x/y, 2 bytes of base64]"},
		`{"content":[{"type":"resource_link","uri":"file:///a","name":"a"}]}`:                           {Text: "[resource a file:///a]"},
		`{"structuredContent":{"b":1.0}}`:                                                               {Text: `{"b":1.0}`, Value: json.RawMessage(`{"b":1}`)},
		`{"content":[],"resultType":"complete"}`:                                                        {},
	} {
		r, err := mcp.DecodeResult(json.RawMessage(text), 100)
		require.NoError(t, err, text)
		require.Equal(t, want, *r, text)
	}
	r, err := mcp.DecodeResult(json.RawMessage(`{"content":[{"type":"text","text":"`+strings.Repeat("ä", 500)+`"}]}`), 300)
	require.NoError(t, err)
	require.LessOrEqual(t, len(r.Text), 300)
	require.Contains(t, r.Text, "[… 1000 bytes in all]")
	for _, text := range []string{`[]`, `5`, `{"content":5}`, `{"resultType":"input_required"}`, `{"structuredContent":1e999}`} {
		_, err := mcp.DecodeResult(json.RawMessage(text), 300)
		require.Error(t, err, text)
	}
}

// Promise: an offer of tools is bounded: in number, in size, in names.
func TestTools(t *testing.T) {
	one := func(name, schema string) string { return fmt.Sprintf(`{"name":%q,"inputSchema":%s}`, name, schema) }
	for text, want := range map[string]string{
		`{"tools":[` + one("a", `{"x":"`+strings.Repeat("x", mcp.MostSchema)+`"}`) + `]}`: "tools[0] a has a schema of 65544 bytes, at most 65536",
		`{"tools":[` + one("a b", `{}`) + `]}`:                                            `tools[0] has the name "a b"`,
		`{"tools":[` + one("", `{}`) + `]}`:                                               `tools[0] has the name ""`,
		`{"tools":[` + one("a", `[]`) + `]}`:                                              "tools[0] a has no schema",
		`{"tools":5}`:                                                                     "has no list of tools", `{}`: "has no list of tools",
	} {
		_, _, err := mcp.DecodeTools(json.RawMessage(text))
		require.ErrorContains(t, err, want)
	}
	var all []mcp.Tool
	for i := range mcp.MostTools + 1 {
		all = append(all, mcp.Tool{Name: fmt.Sprint("t", i), InputSchema: json.RawMessage(`{}`)})
	}
	require.NoError(t, mcp.CheckTools(all[1:]))
	require.ErrorContains(t, mcp.CheckTools(all), "257 tools, at most 256")
	require.ErrorContains(t, mcp.CheckTools(append(all[:1], all[0])), "two tools have the name t0")
	back, err := mcp.FromOpenAI(mcp.OpenAI(all[:2]))
	require.NoError(t, err)
	require.Equal(t, all[:2], back)
}

// FuzzDecode holds everything that is read from a peer to: no panic, and a message that is
// accepted is written and read again as the same.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":{}}}`, `{"jsonrpc":"2.0","id":"x","result":{"content":[{"type":"text","text":"a"}]}}`,
		`{"jsonrpc":"2.0","id":null,"error":{"code":-32022,"message":"no","data":{"supported":["2026-07-28"]}}}`, `{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"a","inputSchema":{}}]}}`,
		`[]`, "\xff", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		m, err := mcp.Decode(text)
		if err != nil {
			return
		}
		again, err := mcp.Decode(m.Encode())
		require.NoError(t, err)
		require.Equal(t, m.Method, again.Method)
		require.Equal(t, string(m.ID), string(again.ID))
		require.Equal(t, m.Error == nil, again.Error == nil)
		_, _ = mcp.StatelessVersion(m.Params)
		if m.Error != nil {
			require.LessOrEqual(t, len(m.Error.Message), 2000)
			_ = mcp.Served(m.Error)
		}
		if r, err := mcp.DecodeResult(m.Result, 300); err == nil {
			require.LessOrEqual(t, len(r.Text), 300)
			_ = mcp.Marshal(r.Encode())
		}
		if tools, _, err := mcp.DecodeTools(m.Result); err == nil && mcp.CheckTools(tools) == nil {
			_, err := mcp.FromOpenAI(mcp.OpenAI(tools))
			require.NoError(t, err)
		}
	})
}
