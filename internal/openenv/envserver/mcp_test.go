package envserver_test

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/internal/mcp"
	reach "github.com/merit-rl/merit/internal/mcp/client"
	"github.com/merit-rl/merit/internal/openenv/envserver"
	"github.com/merit-rl/merit/sdk/plugin"
)

func overMCP(url string) *reach.Server {
	return &reach.Server{URL: url, Start: 10 * time.Second, Call: 10 * time.Second, MaxMessage: 1 << 20, MaxText: 1 << 16}
}

// Promise: at /mcp, a session is an episode: its task is in the instructions, its calls are
// steps, no reward is in what an agent sees, and a session without an episode says so.
func TestMCP(t *testing.T) {
	url, _ := start(t, shop{}, nil)
	s, err := overMCP(url + "/mcp?seed=7").Open(t.Context())
	require.NoError(t, err)
	require.Equal(t, mcp.Handshake, s.Version)
	require.Equal(t, "Buy.\n\nTwo, please.", s.Instructions)
	tools, err := s.Tools(t.Context())
	require.NoError(t, err)
	require.Equal(t, "buy", tools[0].Name)
	wrong, err := s.Call(t.Context(), "buy", json.RawMessage(`{"n":"two"}`))
	require.NoError(t, err)
	require.True(t, wrong.IsError)
	require.Contains(t, wrong.Text, "got string, want integer")
	r, err := s.Call(t.Context(), "buy", json.RawMessage(`{"n":2}`))
	require.NoError(t, err)
	require.False(t, r.IsError)
	require.Contains(t, r.Text, "bought")
	require.Contains(t, r.Text, "The episode is over.")
	require.Contains(t, string(r.Value), `"done":true`)
	require.NotContains(t, string(r.Value), "reward")
	over, err := s.Call(t.Context(), "buy", json.RawMessage(`{"n":2}`))
	require.NoError(t, err)
	require.True(t, over.IsError)
	require.Contains(t, over.Text, "the episode is over")
	s.Close()
	_, err = s.Call(t.Context(), "buy", json.RawMessage(`{"n":2}`))
	require.ErrorContains(t, err, "404 Not Found")
	for range 2 { // the slots
		_, err = overMCP(url + "/mcp").Open(t.Context())
		require.NoError(t, err)
	}
	_, err = overMCP(url + "/mcp").Open(t.Context())
	require.ErrorContains(t, err, "Server at capacity: 2/2 sessions active")
	_, err = overMCP(url + "/mcp?seed=x").Open(t.Context())
	require.ErrorContains(t, err, "seed")
}

// Promise: sessions that nobody uses end, and the published package's requests without a
// session, and with the one that it creates, are answered.
func TestMCPSessions(t *testing.T) {
	url, _ := start(t, shop{}, func(c *envserver.Config) { c.Idle = 100 * time.Millisecond })
	for range 2 {
		_, err := overMCP(url + "/mcp").Open(t.Context())
		require.NoError(t, err)
	}
	require.Eventually(t, func() bool {
		return strings.Contains(post(t, url, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"buy","arguments":{"n":1}}}`), "bought")
	}, 10*time.Second, 20*time.Millisecond)
	require.Contains(t, post(t, url, `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}`), `"name":"buy"`)
	var created struct{ Result map[string]string }
	require.NoError(t, json.Unmarshal([]byte(post(t, url, `{"jsonrpc":"2.0","id":1,"method":"openenv/session/create","params":{}}`)), &created))
	id := created.Result["session_id"]
	require.NotEmpty(t, id)
	require.Contains(t, post(t, url, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"session_id":"`+id+`","name":"buy","arguments":{"n":1}}}`), "bought")
	require.Contains(t, post(t, url, `{"jsonrpc":"2.0","id":1,"method":"openenv/session/close","params":{"session_id":"`+id+`"}}`), `"closed":true`)
	require.Contains(t, post(t, url, `{"jsonrpc":"2.0","id":1,"method":"openenv/session/close","params":{"session_id":"`+id+`"}}`), "Unknown session_id")
	require.Contains(t, post(t, url, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"session_id":"none","name":"buy"}}`), "does not exist")
}

func post(t *testing.T, url, body string) string {
	r, err := http.Post(url+"/mcp", "application/json", strings.NewReader(body))
	require.NoError(t, err)
	text, err := io.ReadAll(r.Body)
	require.NoError(t, err)
	require.NoError(t, r.Body.Close())
	return string(text)
}

// counter is an environment with named actions.
type counter struct{}

func (counter) Spec() plugin.Spec             { return plugin.Spec{Actions: []string{"up", "down"}, MaxSteps: 3} }
func (counter) NewSlot() (plugin.Slot, error) { return counter{}, nil }
func (counter) Reset(_ uint64, turn *plugin.Turn) error {
	turn.Anchor = append(turn.Anchor, "at 0"...)
	return nil
}

func (counter) Step(a plugin.Action, turn *plugin.Turn) error {
	turn.Anchor = append(turn.Anchor, "went "+[]string{"up", "down"}[a.Index]...)
	return nil
}

// Promise: an environment without tools has one, which plays an action, and the client of the
// PyPI package plays it in a session although it would rather have none.
func TestMCPPublishedClient(t *testing.T) {
	url, _ := start(t, counter{}, nil)
	cmd := exec.Command(testneeds.MCPPython(t), "../../mcp/answer/testdata/client.py", "auto", url+"/mcp", "--", `act={"action":"up"}`, `act={"action":"left"}`, `act={"action":"down"}`)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	require.NoError(t, err)
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	require.JSONEq(t, `{"version":"2025-11-25","server":"shop","instructions":"at 0\n\nActions: up, down"}`, lines[0])
	require.JSONEq(t, `["act"]`, lines[1])
	require.Contains(t, lines[2], "went up")
	require.Contains(t, lines[3], `"error": true`)
	require.Contains(t, lines[4], "went down")
}
