package rl_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/core/testneeds"
	"github.com/stretchr/testify/require"
)

func readAll(r io.Reader) (all []*rl.Trajectory, err error) {
	for t, err := range rl.ReadTrajectories(r) {
		if err != nil {
			return all, err
		}
		all = append(all, t)
	}
	return all, nil
}

const good = `{"id":"a","messages":[{"role":"user","content":"q"},{"role":"assistant","content":"A: 1"}],"unknown":{"x":[1]}}`

// Promise: lines come in order, blank lines and a byte order mark are passed
// over, unknown fields are ignored, a missing last newline and Windows line
// ends are no problem, and a trajectory without an id is named after its line.
func TestReadTrajectories(t *testing.T) {
	in := "\xef\xbb\xbf" + good + "\r\n\n  \n" + strings.Replace(good, `"id":"a",`, "", 1)
	for _, r := range []io.Reader{strings.NewReader(in), iotest.OneByteReader(strings.NewReader(in))} {
		all, err := readAll(r)
		require.NoError(t, err)
		require.Len(t, all, 2)
		require.Equal(t, []string{"a", "line-4"}, []string{all[0].ID, all[1].ID})
		require.Equal(t, "A: 1", all[0].Messages[1].Content.Text())
	}
	for range rl.ReadTrajectories(strings.NewReader(good + "\n" + good)) {
		break // stops early without complaint
	}
	all, err := readAll(strings.NewReader(""))
	require.NoError(t, err)
	require.Empty(t, all)
}

// Promise: what the pipeline relies on is checked, and the error says which
// line and what.
func TestBadTrajectories(t *testing.T) {
	cases := map[string]struct {
		line, want string
		truncated  bool
	}{
		"not JSON":             {`hello` + "\n", "line 2: not a trajectory: invalid character", false},
		"a list":               {`[1]` + "\n", "line 2: not a trajectory", false},
		"two values":           {good + good + "\n", "line 2: not a trajectory", false},
		"no messages":          {`{"id":"x"}` + "\n", "line 2: messages is empty", false},
		"messages is a string": {`{"messages":"hi"}` + "\n", "line 2: messages must not be a string", false},
		"no role":              {`{"messages":[{"content":"hi"}]}` + "\n", "line 2: messages[0] has no role", false},
		"wrong content":        {`{"messages":[{"role":"user","content":3}]}` + "\n", "line 2: not a trajectory: message content must be", false},
		"not UTF-8":            {strings.Replace(good, "q", "\xff", 1) + "\n", "line 2: the text is not UTF-8", false},
		"step without action":  {strings.Replace(good, `"unknown"`, `"steps":[{"index":0,"message_count":0}],"unknown"`, 1) + "\n", `line 2: steps[0].message_count is 0, but messages[0] is of role "user"`, false},
		"step out of range":    {strings.Replace(good, `"unknown"`, `"steps":[{"index":1,"message_count":9}],"unknown"`, 1) + "\n", "line 2: steps[0].index is 1", false},
		"number too large":     {strings.Replace(good, `"unknown"`, `"steps":[{"log_prob":1e999}],"unknown"`, 1) + "\n", "steps.log_prob must not be a number 1e999", false},
		"cut off":              {good[:40], "line 2: the file ends in the middle of this line", true},
		"cut off in a word":    {good[:3], "line 2: the file ends", true},
		"lost blocks":          {good[:40] + "\x00\x00\x00", "line 2: the file ends", true},
		"bad but not cut off":  {`{"id":}`, "line 2: not a trajectory", false},
		"cut but ended":        {good[:40] + "\n", "line 2: not a trajectory", false},
		"many problems":        {`{"messages":[{},{},{},{},{},{},{}]}` + "\n", "and 2 more problems", false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			all, err := readAll(strings.NewReader(good + "\n" + c.line))
			require.ErrorContains(t, err, c.want)
			var at *rl.LineError
			require.ErrorAs(t, err, &at)
			require.Equal(t, 2, at.Line)
			require.Len(t, all, 1, "what stands before is read")
			require.Equal(t, c.truncated, errors.Is(err, rl.ErrTruncated))
		})
	}
	_, err := readAll(iotest.ErrReader(os.ErrPermission))
	require.ErrorIs(t, err, os.ErrPermission)
	lost := `{"id":"x","messages":[],"stop_reason":"error","error":"exit status 2"}`
	_, err = readAll(strings.NewReader(lost))
	require.NoError(t, err, "an episode that was lost to a fault may be empty")
}

// Promise: a line of any length is bounded in memory.
func TestLongLine(t *testing.T) {
	in := io.MultiReader(strings.NewReader(good+"\n"), io.LimitReader(endless{}, rl.MaxLine+1))
	all, err := readAll(in)
	require.ErrorContains(t, err, "line 2: the line is longer than 64 MiB")
	require.Len(t, all, 1)
}

// endless reads as a line without an end.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// Promise: the model solutions of GSM8K load as they are.
func TestReadModelSolutions(t *testing.T) {
	f, err := os.Open(testneeds.Shared(t, "data", "gsm8k_model_solutions.jsonl"))
	require.NoError(t, err)
	defer f.Close()
	all, err := readAll(f)
	require.NoError(t, err)
	require.Len(t, all, 1320)
	require.Equal(t, `"18"`, string(all[0].GroundTruth))
	require.Equal(t, "false", string(all[0].Metadata["is_correct"]))
	require.Contains(t, all[0].Messages[1].Content.Text(), "<<16-3=13>>")
}

// Promise: no input makes the reader panic, and what it accepts it also writes
// and reads back the same.
func FuzzReadTrajectories(f *testing.F) {
	f.Add([]byte(good + "\n" + good[:30]))
	f.Add([]byte(`{"messages":[{"role":"user","content":[{"type":"text","text":"x"},7]}],"evaluation":{"score":1,"metrics":{"m":null},"step_outputs":[{"step_index":"0","base_reward":1}]}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		all, _ := readAll(bytes.NewReader(data))
		for _, first := range all {
			line, err := json.Marshal(first)
			require.NoError(t, err)
			again, err := readAll(bytes.NewReader(line))
			require.NoError(t, err)
			require.Len(t, again, 1)
			second, err := json.Marshal(again[0])
			require.NoError(t, err)
			require.Equal(t, string(line), string(second))
		}
	})
}
