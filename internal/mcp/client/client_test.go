package client_test

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/internal/mcp"
	"github.com/merit-rl/merit/internal/mcp/client"
)

func defaults() client.Server {
	return client.Server{Start: 30 * time.Second, Call: 20 * time.Second, MaxMessage: 1 << 20, MaxText: 1000}
}

// stdio is the server of the PyPI package over its standard input and output.
func stdio(t *testing.T) client.Server {
	s := defaults()
	s.Command = []string{testneeds.MCPPython(t), filepath.Join("testdata", "peer.py")}
	s.Env = []string{"PATH=" + os.Getenv("PATH")}
	return s
}

// web is the same server over HTTP. how is json or sse.
func web(t *testing.T, how string) client.Server {
	cmd := exec.Command(testneeds.MCPPython(t), filepath.Join("testdata", "peer.py"), how)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	port, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	s := defaults()
	s.URL = "http://127.0.0.1:" + strings.TrimSpace(port) + "/mcp"
	require.Eventually(t, func() bool {
		r, err := http.Get(s.URL)
		if err == nil {
			_ = r.Body.Close()
		}
		return err == nil
	}, 20*time.Second, 20*time.Millisecond)
	return s
}

func open(t *testing.T, s client.Server) *client.Session {
	c, err := s.Open(t.Context())
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

// Promise: Merit's client lists and calls the tools of a server of the PyPI package over both
// transports and at both kinds of revision.
func TestPublishedServer(t *testing.T) {
	for name, make := range map[string]func(*testing.T) client.Server{
		"stdio": stdio,
		"http":  func(t *testing.T) client.Server { return web(t, "sse") },
		"json":  func(t *testing.T) client.Server { return web(t, "json") },
	} {
		t.Run(name, func(t *testing.T) {
			s := make(t)
			for _, stateless := range []bool{false, true} {
				s.Stateless = stateless
				c := open(t, s)
				require.Equal(t, map[bool]string{false: mcp.Handshake, true: mcp.Stateless}[stateless], c.Version)
				require.Equal(t, mcp.Peer{Name: "peer", Version: "1.2"}, c.Peer)
				require.Equal(t, "Counts.", c.Instructions)
				play(t, c)
			}
		})
	}
}

func play(t *testing.T, c *client.Session) {
	tools, err := c.Tools(t.Context())
	require.NoError(t, err)
	require.Len(t, tools, 5)
	require.Equal(t, "add", tools[0].Name)
	require.Equal(t, "Adds to the count and returns it.", tools[0].Description)
	first, err := c.Call(t.Context(), "add", json.RawMessage(`{"by":2}`))
	require.NoError(t, err)
	require.False(t, first.IsError)
	var before int
	require.NoError(t, json.Unmarshal([]byte(first.Text), &before))
	require.JSONEq(t, `{"result":`+first.Text+`}`, string(first.Value))
	failed, err := c.Call(t.Context(), "fail", json.RawMessage(`{"why":"because"}`))
	require.NoError(t, err)
	require.True(t, failed.IsError)
	require.Contains(t, failed.Text, "because")
	wrong, err := c.Call(t.Context(), "nothing", json.RawMessage(`{}`))
	require.NoError(t, err)
	require.True(t, wrong.IsError)
	long, err := c.Call(t.Context(), "long", json.RawMessage(`{"size":5000}`))
	require.NoError(t, err)
	require.LessOrEqual(t, len(long.Text), 1000)
	require.Contains(t, long.Text, "10000 bytes in all")
}

// Promise: a call that takes too long is an error, and the session continues; a server that
// crashes breaks it, with what it wrote last.
func TestLateAndCrashed(t *testing.T) {
	s := stdio(t)
	s.Call = 300 * time.Millisecond
	c := open(t, s)
	_, err := c.Call(t.Context(), "sleep", json.RawMessage(`{"seconds":60}`))
	require.EqualError(t, err, "timeout: the tool did not answer within 300ms")
	first, err := c.Call(t.Context(), "add", json.RawMessage(`{}`))
	require.NoError(t, err)
	require.Equal(t, "1", first.Text)
	s.Call = 20 * time.Second
	c = open(t, s)
	_, err = c.Call(t.Context(), "crash", json.RawMessage(`{}`))
	require.ErrorContains(t, err, "the server exited (exit status 3); it last wrote: the disk is gone")
	_, again := c.Call(t.Context(), "add", json.RawMessage(`{}`))
	require.Equal(t, err, again)
	ctx, cancel := context.WithCancel(t.Context())
	c = open(t, s)
	cancel()
	_, err = c.Call(ctx, "add", json.RawMessage(`{}`))
	require.ErrorIs(t, err, context.Canceled)
}

// Promise: a message beyond the limit breaks the session and names the limit.
func TestLongMessage(t *testing.T) {
	for name, s := range map[string]client.Server{"stdio": stdio(t), "http": web(t, "sse"), "json": web(t, "json")} {
		s.MaxMessage = 16 << 10
		c := open(t, s)
		_, err := c.Call(t.Context(), "long", json.RawMessage(`{"size":20000}`))
		require.ErrorContains(t, err, "limits.message, 16384 bytes", name)
	}
}
