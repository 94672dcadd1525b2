package answer_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/internal/mcp"
	"github.com/merit-rl/merit/internal/mcp/answer"
)

func server() *answer.Server {
	return &answer.Server{
		Peer: mcp.Peer{Name: "echo", Version: "1"}, Instructions: "Say something.",
		Tools: []mcp.Tool{{Name: "echo", InputSchema: json.RawMessage(`{"type":"object","properties":{"text":{"type":"string"}}}`)}},
		Call: func(_ context.Context, _ string, arguments json.RawMessage) (*mcp.Result, error) {
			if strings.Contains(string(arguments), "wrong") {
				return nil, errors.New("that is wrong")
			}
			return &mcp.Result{Text: string(arguments), Value: arguments}, nil
		},
	}
}

const asServer = "MERIT_TEST_ECHO"

func TestMain(m *testing.M) {
	if os.Getenv(asServer) != "" || len(os.Args) > 1 && os.Args[1] == "echo" {
		if err := server().Serve(context.Background(), os.Stdin, os.Stdout, 1<<20); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func handler(s *answer.Server) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		if m, ok := answer.Read(w, r, 1<<16); ok {
			answer.Write(w, m, s.Answer(r.Context(), m))
		}
	})
}

// Promise: the client of the PyPI package agrees with Merit's server on a revision, with its
// handshake, without it and by its own choice, over both transports; where calls need a
// session, it begins one.
func TestPublishedClient(t *testing.T) {
	python := testneeds.MCPPython(t)
	web := httptest.NewServer(handler(server()))
	defer web.Close()
	sessions := server()
	sessions.Sessions = true
	kept := httptest.NewServer(handler(sessions))
	defer kept.Close()
	for _, c := range []struct{ mode, version string }{
		{"legacy", mcp.Handshake}, {"auto", mcp.Stateless}, {mcp.Stateless, mcp.Stateless},
	} {
		for _, target := range [][]string{{web.URL + "/mcp"}, {os.Args[0], "echo"}} {
			lines := run(t, python, c.mode, target)
			var about map[string]string
			require.NoError(t, json.Unmarshal([]byte(lines[0]), &about))
			require.Equal(t, c.version, about["version"], target)
			if c.mode != mcp.Stateless { // the client did not ask
				require.Equal(t, map[string]string{"version": c.version, "server": "echo", "instructions": "Say something."}, about)
			}
			require.JSONEq(t, `["echo"]`, lines[1])
			require.JSONEq(t, `{"error":false,"text":"{\"text\":\"hé\"}","value":{"text":"hé"}}`, lines[2])
			require.JSONEq(t, `{"error":true,"text":"that is wrong","value":null}`, lines[3])
			require.Contains(t, lines[4], "Unknown tool: nothing")
		}
	}
	lines := run(t, python, "auto", []string{kept.URL + "/mcp"})
	require.Contains(t, lines[0], mcp.Handshake)
}

func run(t *testing.T, python, mode string, target []string) []string {
	args := append([]string{"testdata/client.py", mode}, target...)
	cmd := exec.Command(python, append(args, "--", `echo={"text":"hé"}`, `echo={"text":"wrong"}`, `nothing={}`)...)
	cmd.Env = append(os.Environ(), asServer+"=") // for HTTP
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	require.NoError(t, err, "%s %v: %s", mode, target, stderr.String())
	return strings.Split(strings.TrimSpace(string(out)), "\n")
}

// Promise: every revision is agreed on or refused as the protocol says, in one table.
func TestVersions(t *testing.T) {
	for _, c := range []struct{ ask, want string }{
		{`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2024-11-05"}}`, `"protocolVersion":"2024-11-05"`},
		{`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-03-26"}}`, `"protocolVersion":"2025-03-26"`},
		{`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18"}}`, `"protocolVersion":"2025-06-18"`},
		{`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}`, `"protocolVersion":"2025-11-25"`},
		{`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2031-01-01"}}`, `"protocolVersion":"2025-11-25"`},
		{`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`, `"code":-32602`},
		{`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`, `"resultType":"complete"`},
		{`{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`, `"supportedVersions":["2026-07-28","2025-11-25","2025-06-18","2025-03-26","2024-11-05"]`},
		{`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2031-01-01"}}}`, `"code":-32022`},
		{`{"jsonrpc":"2.0","id":1,"method":"server/discover"}`, `"code":-32601`},
		{`{"jsonrpc":"2.0","id":"a","method":"resources/list"}`, `"id":"a","error":{"code":-32601`},
		{`{"jsonrpc":"2.0","id":1,"method":"ping"}`, `"result":{}`},
		{`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":[]}}`, `"code":-32602`},
		{`[{"jsonrpc":"2.0","id":1,"method":"ping"}]`, `"id":null,"error":{"code":-32600`},
		{`{"id":1,"method":"ping"}`, `"code":-32600`},
		{`{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}`, `"code":-32700`},
		{`{"jsonrpc":"2.0","id":1.5,"method":"ping"}`, `"code":-32600`},
		{`{"jsonrpc":"2.0","id":1,"method":"ping","params":` + strings.Repeat("[", 70) + strings.Repeat("]", 70) + `}`, `nested more than 64`},
		{"\"\xff\"", `"code":-32700`},
	} {
		var out bytes.Buffer
		require.NoError(t, server().Serve(t.Context(), strings.NewReader(c.ask+"\n"), &out, 1<<16))
		require.Contains(t, out.String(), c.want, c.ask)
	}
	var out bytes.Buffer
	require.NoError(t, server().Serve(t.Context(), strings.NewReader(`{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n"), &out, 1<<16))
	require.Empty(t, out.String())
	require.ErrorContains(t, server().Serve(t.Context(), strings.NewReader(strings.Repeat(" ", 100)+"\n"), &out, 64), "more than 64 bytes")
}

// Promise: over HTTP, headers that differ from the request, and revisions that are not served,
// are refused with the status that the protocol names.
func TestHeaders(t *testing.T) {
	web := httptest.NewServer(handler(server()))
	defer web.Close()
	const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
	modern := map[string]string{"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "echo"}
	call := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo",` + meta + `}}`
	with := func(key, value string) map[string]string {
		h := map[string]string{}
		for k, v := range modern {
			h[k] = v
		}
		h[key] = value
		return h
	}
	for _, c := range []struct {
		headers map[string]string
		body    string
		status  int
		want    string
	}{
		{modern, call, 200, `"resultType":"complete"`},
		{with("Mcp-Name", "=?base64?ZWNobw==?="), call, 200, `"resultType":"complete"`},
		{with("Mcp-Name", "other"), call, 400, "-32020"},
		{with("Mcp-Method", "tools/list"), call, 400, "-32020"},
		{with("Mcp-Protocol-Version", "2025-11-25"), call, 400, "-32020"},
		{map[string]string{"Mcp-Protocol-Version": "1999-01-01"}, `{"jsonrpc":"2.0","id":1,"method":"ping"}`, 400, "-32022"},
		{nil, `{"jsonrpc":"2.0","id":1,"method":"ping"}`, 200, `"result":{}`},
		{nil, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, 202, ""},
		{with("Mcp-Method", "nothing"), `{"jsonrpc":"2.0","id":1,"method":"nothing","params":{` + meta + `}}`, 404, "-32601"},
		{nil, `{`, 400, "-32700"},
		{nil, `[]`, 400, "-32600"},
		{nil, `"` + strings.Repeat("x", 1<<16) + `"`, 413, "65536 bytes"},
	} {
		r, err := http.NewRequest(http.MethodPost, web.URL, strings.NewReader(c.body))
		require.NoError(t, err)
		for k, v := range c.headers {
			r.Header.Set(k, v)
		}
		response, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		var body bytes.Buffer
		_, err = body.ReadFrom(response.Body)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		require.Equal(t, c.status, response.StatusCode, "%v %.200s: %s", c.headers, c.body, body.String())
		require.Contains(t, body.String(), c.want)
	}
}
