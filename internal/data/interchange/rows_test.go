package interchange_test

import (
	"bytes"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/internal/data/jsonl"
)

const small = `{"schema_version":"ATIF-v1.7","session_id":"s","agent":{"name":"a","version":"1"},"steps":[{"step_id":1,"source":"agent","message":"m"}]}`

// repeated returns text n times, without keeping it.
func repeated(text string, n int) io.Reader {
	var all []io.Reader
	for range n {
		all = append(all, strings.NewReader(text))
	}
	return io.MultiReader(all...)
}

// Promise: a stream of documents takes the memory of one.
func TestStreamInBoundedMemory(t *testing.T) {
	filler := strings.Replace(small, `"m"`, `"`+strings.Repeat("x", 1<<16)+`"`, 1)
	in, err := jsonl.Open("-", repeated(filler, 300)) // 19 MiB
	require.NoError(t, err)
	var before, after runtime.MemStats
	n := 0
	for ; ; n++ {
		if n == 10 {
			runtime.GC()
			runtime.ReadMemStats(&before)
		}
		_, err := in.NextTrajectory()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
	}
	require.Equal(t, 300, n)
	runtime.GC()
	runtime.ReadMemStats(&after)
	require.Less(t, int64(after.HeapAlloc)-int64(before.HeapAlloc), int64(8<<20))
	runtime.KeepAlive(in)
}

// Promise: documents are found one after the other, on lines, over lines and in a list; what is
// none of them is read as before.
func TestSeries(t *testing.T) {
	pretty := strings.ReplaceAll(small, ",", ",\n  ")
	for text, want := range map[string]int{
		small: 1, small + "\n" + small + "\n": 2, pretty + "\n" + pretty: 2, "[" + small + ",\n" + small + "]": 2, "\xef\xbb\xbf \n" + small: 1, small + small: 2,
	} {
		in, err := jsonl.Open("-", strings.NewReader(text))
		require.NoError(t, err)
		n := 0
		for ; ; n++ {
			if _, err = in.NextTrajectory(); err != nil {
				break
			}
		}
		require.ErrorIs(t, err, io.EOF, text)
		require.Equal(t, want, n, text)
	}
	for text, want := range map[string]string{
		small + " 7":           `'7' stands between documents, where only an object may begin`,
		small[:90]:             "the file is truncated: its last document is incomplete",
		small + small[:90]:     "the file is truncated: its last document is incomplete",
		"[" + small:            "the file is truncated: its last document is incomplete",
		small + `{"a": "b"}`:   "document 2: this is not a valid ATIF document",
		small + `{"a": "b}`:    "the file is truncated",
		small + "\n\x00\x01\n": `'\x00' stands between documents`,
	} {
		in, err := jsonl.Open("-", strings.NewReader(text))
		for err == nil {
			_, err = in.NextTrajectory()
		}
		require.ErrorContains(t, err, want, text)
	}
	lines := `{"messages":[{"role":"user","content":"\"ATIF-v1.7\""},{"role":"assistant","content":"a"}],"schema_version":1}` + "\n"
	in, err := jsonl.Open("-", strings.NewReader(strings.Repeat(lines, 3)))
	require.NoError(t, err)
	require.False(t, in.Foreign())
	for range 3 {
		got, err := in.NextTrajectory()
		require.NoError(t, err)
		require.Len(t, got.Messages, 2)
	}
	_, err = in.NextTrajectory()
	require.ErrorIs(t, err, io.EOF)
}

// FuzzRows: no file ends the process, whichever format it is taken for.
func FuzzRows(f *testing.F) {
	for _, text := range []string{
		small, `{"responses_create_params":{"input":"q"},"response":{"output":[{"type":"message","role":"assistant","content":"a","generation_token_ids":[1],"generation_log_probs":[-1]}]},"reward":1}`,
		`{"env":{},"task":{},"traces":[{"id":"t","task":{},"agent":{},"ok":true,"nodes":[{"message":{"role":"user","content":"q"}},{"parent":0,"sampled":true,"message":{"role":"assistant","content":"a"},"token_ids":[1],"mask":[true],"logprobs":[-1]}],"rewards":{"r":{"score":1}}}]}`,
		`{"example_id":1,"prompt":"q","completion":[{"role":"assistant","content":"a"}],"reward":1,"is_completed":true,"trajectory":[{"tokens":{"prompt_ids":[1],"completion_ids":[2],"completion_logprobs":[-1]}}]}`,
		`{"version":2,"status":"success","eval":{"task":"t"},"plan":{},"samples":[{"id":1,"epoch":1,"messages":[{"role":"assistant","content":[{"type":"reasoning","reasoning":"r"}]}],"scores":{"s":{"value":NaN}}}]}`,
		`{"input":"q","output":"a","gts":null,"score":"1.0","step":1,"uid":"a_0_0"}`, `{"step":1,"prompt":"q","completion":"a","r":1.0,"advantage":0}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		in, err := jsonl.Open("-", bytes.NewReader(text))
		for range 10 {
			if err != nil {
				return
			}
			if got, err := in.NextTrajectory(); err == nil {
				require.NoError(t, got.Check())
			} else if errors.Is(err, io.EOF) {
				return
			}
		}
	})
}
