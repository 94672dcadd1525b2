package rl_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/merit-rl/merit/core/rl"
	"github.com/stretchr/testify/require"
)

const good = `{"id":"a","messages":[{"role":"user","content":"q"},{"role":"assistant","content":"A: 1"}],"unknown":{"x":[1]}}`

// Promise: unknown fields are ignored, and a trajectory without an id is named
// after its line.
func TestDecodeTrajectory(t *testing.T) {
	got, err := rl.DecodeTrajectory([]byte(good), 4)
	require.NoError(t, err)
	require.Equal(t, "a", got.ID)
	require.Equal(t, "A: 1", got.Messages[1].Content.Text())
	got, err = rl.DecodeTrajectory([]byte(strings.Replace(good, `"id":"a",`, "", 1)), 4)
	require.NoError(t, err)
	require.Equal(t, "line-4", got.ID)
	lost := `{"id":"x","messages":[],"stop_reason":"error","error":"exit status 2"}`
	_, err = rl.DecodeTrajectory([]byte(lost), 1)
	require.NoError(t, err, "an episode that was lost to a fault may be empty")
}

// Promise: what the pipeline relies on is checked, and the error says what.
func TestBadTrajectories(t *testing.T) {
	cases := map[string]struct{ line, want string }{
		"not JSON":             {`hello`, "not a trajectory: invalid character"},
		"a list":               {`[1]`, "not a trajectory"},
		"two values":           {good + good, "not a trajectory"},
		"no messages":          {`{"id":"x"}`, "messages is empty"},
		"messages is a string": {`{"messages":"hi"}`, "messages must not be a string"},
		"no role":              {`{"messages":[{"content":"hi"}]}`, "messages[0] has no role"},
		"wrong content":        {`{"messages":[{"role":"user","content":3}]}`, "messages[0].content must be a string, null or a list of parts, not 3"},
		"not UTF-8":            {strings.Replace(good, "q", "\xff", 1), "the text is not UTF-8"},
		"step without action":  {strings.Replace(good, `"unknown"`, `"steps":[{"index":0,"message_count":0}],"unknown"`, 1), `steps[0].message_count is 0, but messages[0] has the role "user"`},
		"step out of range":    {strings.Replace(good, `"unknown"`, `"steps":[{"index":1,"message_count":9}],"unknown"`, 1), "steps[0].index is 1"},
		"number too large":     {strings.Replace(good, `"unknown"`, `"steps":[{"log_prob":1e999}],"unknown"`, 1), "steps[0].log_prob must not be the number 1e999"},
		"bad but not cut off":  {`{"id":}`, "not a trajectory"},
		"many problems":        {`{"messages":[{},{},{},{},{},{},{}]}`, "and 2 more problems"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := rl.DecodeTrajectory([]byte(c.line), 2)
			require.ErrorContains(t, err, c.want)
		})
	}
}

// Promise: no input makes the decoder panic, and what it accepts it also writes
// and reads back the same.
func BenchmarkDecodeTrajectory(b *testing.B) {
	content := strings.Repeat("She sells the remainder at the farmers' market daily for $2 per egg. \\n", 18)
	text := []byte(`{"id": "x", "ground_truth": "18", "messages": [` + strings.Repeat(`{"role": "user", "content": "`+content+`"}, `, 3) + `{"role": "assistant", "content": "` + content + `"}]}`)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if _, err := rl.DecodeTrajectory(text, 1); err != nil {
			b.Fatal(err)
		}
	}
}

func FuzzDecodeTrajectory(f *testing.F) {
	f.Add([]byte(good))
	f.Add([]byte(`{"messages":[{"role":"user","content":[{"type":"text","text":"x"},7]}],"evaluation":{"score":1,"metrics":{"m":null},"step_outputs":[{"step_index":"0","base_reward":1}]}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		first, err := rl.DecodeTrajectory(data, 1)
		if err != nil {
			return
		}
		line, err := json.Marshal(first)
		require.NoError(t, err)
		again, err := rl.DecodeTrajectory(line, 1)
		require.NoError(t, err)
		second, err := json.Marshal(again)
		require.NoError(t, err)
		require.Equal(t, string(line), string(second))
	})
}
