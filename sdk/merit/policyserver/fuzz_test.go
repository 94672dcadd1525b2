package policyserver

import "testing"

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
