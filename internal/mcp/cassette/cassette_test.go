package cassette_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/internal/mcp"
	"github.com/merit-rl/merit/internal/mcp/cassette"
)

func head(match string) cassette.Head {
	return cassette.Head{Match: match, Server: mcp.Peer{Name: "shop", Version: "1"}, Tools: []mcp.Tool{{Name: "find", InputSchema: json.RawMessage(`{"type":"object"}`)}}}
}

func arguments(i int) json.RawMessage { return json.RawMessage(fmt.Sprintf(`{"i":%d}`, i)) }

// Promise: a file that several recorders write at the same time has each call once, in the
// same bytes as one that a single recorder wrote in another order.
func TestRecordedTogether(t *testing.T) {
	for _, match := range []string{cassette.History, cassette.Call} {
		together, alone := filepath.Join(t.TempDir(), "c.jsonl"), filepath.Join(t.TempDir(), "c.jsonl")
		var wait sync.WaitGroup
		for range 4 {
			wait.Go(func() { write(t, together, match, 20, func(i int) int { return i }) })
		}
		wait.Wait()
		write(t, alone, match, 20, func(i int) int { return 19 - i })
		a, err := os.ReadFile(together)
		require.NoError(t, err)
		b, err := os.ReadFile(alone)
		require.NoError(t, err)
		require.Equal(t, string(b), string(a))
		require.Equal(t, 41, bytes.Count(a, []byte("\n")))
	}
}

// write records n episodes of two calls.
func write(t *testing.T, path, match string, n int, order func(int) int) {
	r, err := cassette.Record(path, head(match))
	require.NoError(t, err)
	for i := range n {
		i := order(i)
		e, err := r.Add("", "find", arguments(i), mcp.Result{Text: fmt.Sprint(i)})
		require.NoError(t, err)
		_, err = r.Add(e.Key, "find", arguments(i+1000), mcp.Result{Text: "again", IsError: true, Value: json.RawMessage(`[1]`)})
		require.NoError(t, err)
	}
	require.NoError(t, r.Close())
}

// Promise: what is recorded is found by the calls before it or, with match: call, whatever
// came before.
func TestFind(t *testing.T) {
	for _, match := range []string{cassette.History, cassette.Call} {
		path := filepath.Join(t.TempDir(), "c.jsonl")
		write(t, path, match, 3, func(i int) int { return i })
		tape, err := cassette.Read(path)
		require.NoError(t, err)
		first := tape.Find(tape.Key("", "find", arguments(1)))
		require.Equal(t, "1", first.Answer.Text)
		require.NotNil(t, tape.Find(tape.Key(first.Key, "find", arguments(1001))))
		require.Equal(t, match == cassette.Call, tape.Find(tape.Key("", "find", arguments(1001))) != nil)
		require.Equal(t, match == cassette.Call, tape.Find(tape.Key(first.Key, "find", arguments(2))) != nil)
		require.Nil(t, tape.Find(tape.Key(first.Key, "find", arguments(7))))
	}
}

// Promise: a file that was changed by hand, or is not a recording, is refused with its line;
// so is a server that is no longer the one that was recorded.
func TestRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.jsonl")
	write(t, path, cassette.History, 2, func(i int) int { return i })
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	lines := strings.SplitAfter(string(text), "\n")
	for name, c := range map[string]struct{ text, want string }{
		"empty":          {"", "is empty"},
		"another file":   {"{}\n", "line 1: merit_cassette is 0"},
		"not JSON":       {"hello\n", "line 1: is not the first line of a recording"},
		"an answer":      {strings.Replace(string(text), `"text":"1"`, `"text":"2"`, 1), "was changed after it was recorded"},
		"a missing call": {lines[0] + strings.Join(lines[3:], ""), "line 2: the call before it is not recorded above it"},
		"twice":          {string(text) + lines[1], "line 6: the call is recorded twice"},
		"cut":            {string(text)[:len(text)-9], "line 5: "},
		"another field":  {lines[0] + strings.Replace(lines[1], `"n":1`, `"n":1,"x":2`, 1), "line 2: "},
		"two names":      {strings.Replace(lines[0], `"tools":[`, `"tools":[{"name":"find","inputSchema":{}},`, 1), "two tools have the name find"},
	} {
		_, err := cassette.Decode(strings.NewReader(c.text))
		require.ErrorContains(t, err, c.want, name)
	}
	other := head(cassette.History)
	other.Tools[0].InputSchema = json.RawMessage(`{"type":"object","required":["i"]}`)
	_, err = cassette.Record(path, other)
	require.ErrorContains(t, err, "other tools")
	_, err = cassette.Record(path, head(cassette.Call))
	require.ErrorContains(t, err, "was recorded with match: history")
}

// Promise: whatever the bytes, Decode returns; what it accepts, it writes and reads again as
// the same.
func FuzzDecode(f *testing.F) {
	tape := cassette.New(head(cassette.History))
	f.Add(tape.Encode())
	f.Add([]byte(`{"merit_cassette":1,"match":"call","server":{"name":"","version":""},"tools":[]}` + "\n" + `{"key":"00","after":"","n":1,"tool":"a","arguments":{},"answer":{"text":""},"sum":""}`))
	f.Add([]byte("\xff"))
	f.Fuzz(func(t *testing.T, text []byte) {
		tape, err := cassette.Decode(bytes.NewReader(text))
		if err != nil {
			return
		}
		again, err := cassette.Decode(bytes.NewReader(tape.Encode()))
		require.NoError(t, err)
		require.Equal(t, tape.Digest(), again.Digest())
		require.Equal(t, tape.Len(), again.Len())
	})
}
