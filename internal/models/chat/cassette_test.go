package chat_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/models/chat"
	"github.com/merit-rl/merit/internal/models/chattest"
)

func taped(dir, mode string) func(*chat.Config) {
	return func(c *chat.Config) {
		withKey(c)
		c.Cassettes = chat.Cassettes{Dir: dir, Mode: mode}
	}
}

func nowhere(string) (string, bool) { return "", false }

// files returns the content of the files in a folder, by name.
func files(t *testing.T, dir string) map[string]string {
	all := map[string]string{}
	require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			data, err := os.ReadFile(path)
			require.NoError(t, err)
			all[path] = string(data)
		}
		return err
	}))
	return all
}

// counting answers each request with its number.
func counting(c chattest.Call) chattest.Reply {
	return chattest.Say("answer <" + strconv.Itoa(c.Number) + "> \u2028 é " + c.Header.Get("Authorization"))
}

// Promise: a recording is replayed without a server, byte for byte and free of charge, and
// contains no key; identical requests are one request.
func TestRecordAndReplay(t *testing.T) {
	dir := t.TempDir()
	server := chattest.New(t, 0, counting)
	var recorded []*chat.Response
	c := quick(t, server.URL, taped(dir, chat.Record))
	for _, text := range []string{"a", "b", "a"} {
		r, err := c.Complete(t.Context(), ask(text))
		require.NoError(t, err)
		recorded = append(recorded, r)
	}
	require.Equal(t, "answer <0> \u2028 é Bearer ***", recorded[0].Text)
	require.Equal(t, recorded[0].Text, recorded[2].Text)
	require.Len(t, server.Calls(), 2)
	kept := files(t, dir)
	require.Len(t, kept, 2)
	for _, text := range kept {
		require.NotContains(t, text, key)
		require.NotContains(t, text, "127.0.0.1")
	}

	c = quick(t, "http://192.0.2.1/v1", taped(dir, chat.Replay), func(c *chat.Config) { c.Lookup = nowhere }) // the server does not exist, and there is no key
	for i, text := range []string{"a", "b", "a"} {
		r, err := c.Complete(t.Context(), ask(text))
		require.NoError(t, err)
		require.True(t, r.Replayed)
		r.Replayed = recorded[i].Replayed
		require.Equal(t, recorded[i], r)
	}
	require.Equal(t, chat.Totals{Replayed: 3}, c.Totals())
	_, err := c.Served(t.Context())
	require.NoError(t, err)
	_, err = c.Complete(t.Context(), ask("c"))
	require.ErrorIs(t, err, fault.Of(fault.Storage, fault.Missing))
	require.Contains(t, fault.As(err).Hint, "cassettes.mode to auto")

	c = quick(t, server.URL, taped(dir, chat.Auto))
	for _, text := range []string{"a", "c", "c"} {
		_, err := c.Complete(t.Context(), ask(text))
		require.NoError(t, err)
	}
	require.Len(t, server.Calls(), 3)
	again := files(t, dir)
	require.Len(t, again, 3)
	for path, text := range kept {
		require.Equal(t, text, again[path])
	}
	_, err = quick(t, server.URL, taped(dir, chat.Record)).Complete(t.Context(), ask("a"))
	require.NoError(t, err)
	require.Len(t, server.Calls(), 4, "recording asks anew")
}

// Promise: concurrent identical requests get one answer.
func TestIdenticalRequestsAtOnce(t *testing.T) {
	server := chattest.New(t, 0, counting)
	c := quick(t, server.URL, taped(t.TempDir(), chat.Auto))
	texts := make(chan string)
	for range 16 {
		go func() {
			r, err := c.Complete(t.Context(), ask("a"))
			if err != nil {
				texts <- err.Error()
				return
			}
			texts <- r.Text
		}()
	}
	first := <-texts
	require.Contains(t, first, "answer <0>")
	for range 15 {
		require.Equal(t, first, <-texts)
	}
	require.Len(t, server.Calls(), 1)
}

// Promise: the error for a conversation that is too long is recorded, because it is permanent;
// temporary errors are not.
func TestFailuresOnCassettes(t *testing.T) {
	dir := t.TempDir()
	server := chattest.New(t, 0, func(c chattest.Call) chattest.Reply {
		if c.Number == 0 {
			return chattest.Fail(400, "exceed_context_size_error", "too long")
		}
		return chattest.Fail(401, "", "who?")
	})
	c := quick(t, server.URL, taped(dir, chat.Auto))
	for range 2 {
		_, err := c.Complete(t.Context(), ask("a"))
		require.ErrorIs(t, err, chat.ErrContext)
	}
	_, err := c.Complete(t.Context(), ask("b"))
	require.ErrorIs(t, err, fault.Of(fault.Model, fault.Invalid))
	require.Len(t, files(t, dir), 1)
}

// Promise: a cassette that was changed or damaged is rejected.
func TestDamagedCassettes(t *testing.T) {
	dir := t.TempDir()
	server := chattest.New(t, 0, counting)
	_, err := quick(t, server.URL, taped(dir, chat.Record)).Complete(t.Context(), ask("a"))
	require.NoError(t, err)
	for path, text := range files(t, dir) {
		for _, damaged := range []string{"", text[:len(text)/2], `{"version":2}`, `{"version":1,"request":{"model":"other"},"status":200,"body":"{}"}`} {
			require.NoError(t, os.WriteFile(path, []byte(damaged), 0o600))
			_, err := quick(t, server.URL, taped(dir, chat.Auto)).Complete(t.Context(), ask("a"))
			require.ErrorIs(t, err, fault.Of(fault.Storage, fault.Corrupt))
			require.Contains(t, fault.As(err).Hint, "remove the file")
		}
	}
	require.Len(t, server.Calls(), 1)
}
