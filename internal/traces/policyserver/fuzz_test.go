package policyserver

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// deep is bodies that nest 100,000 times, where a request may hold any JSON.
func deep() (all []string) {
	const depth = 100_000
	for _, v := range []string{strings.Repeat("[", depth) + strings.Repeat("]", depth), strings.Repeat(`{"a":`, depth) + "1" + strings.Repeat("}", depth), strings.Repeat(`[{"a":`, depth)} {
		all = append(all, v, `{"messages":[{"role":"user","content":`+v+`}]}`, `{"messages":[],"response_format":`+v+`}`, `{"messages":[],"x":`+v+`}`)
	}
	return all
}

// Promise: a body that nests deeply is one error.
func TestDeepBodies(t *testing.T) {
	for _, body := range deep() {
		_, _, err := decode([]byte(body))
		require.Error(t, err)
		require.Less(t, len(err.Error()), 1000)
	}
}

// Promise: no body of a stranger stops the server, and what it reads as offered
// is what was sent.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		`{"messages":[{"role":"user","content":"?"}],"guided_choice":["a","b"],"seed":1}`,
		`{"messages":[{"role":"user","content":[{"type":"text","text":"?"}]}],"structured_outputs":{"choice":["a"]},"temperature":0}`,
		`{"response_format":{"json_schema":{"schema":{"enum":["a","b"]}}},"n":1,"stream":true}`,
		`{"guided_choice":7}`, `[]`, `{"seed":-1}`, "{\"messages\":[{\"role\":\"\xff\"}]}",
	} {
		f.Add([]byte(seed))
	}
	for _, seed := range deep() {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		q, call, err := decode(body)
		if err != nil {
			return
		}
		if len(call.Messages) != len(q.Messages) || call.Greedy != (q.Temperature != nil && *q.Temperature == 0) {
			t.Fatalf("%+v of %q", call, body)
		}
	})
}
