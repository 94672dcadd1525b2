package serve_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/merit-rl/merit/internal/serve"
	"github.com/merit-rl/merit/internal/serve/tenant"
	"github.com/stretchr/testify/require"
)

// asked is a request to one route that succeeds.
type asked struct {
	route, path, kind, body string
	status                  int
}

// everyRoute has at least one request for each route for tenants.
func everyRoute() []asked {
	object := `{"reward":"length","trajectories":[` + conversation("a", "", "four") + `]}`
	row := `{"group":"g","trajectory":"t","step":0,"observation":"o","reward":1,"episode_score":1}`
	all := []asked{
		{"POST /v1/evaluate", "/v1/evaluate", "application/json", object, 200},
		{"POST /v1/evaluate", "/v1/evaluate?reward=length", "application/json", "[" + conversation("a", "", "four") + "]", 200},
		{"POST /v1/evaluate", "/v1/evaluate?reward=length", ndjson, conversation("a", "", "four") + "\n" + conversation("b", "", "x") + "\n", 200},
		{"POST /v1/advantages", "/v1/advantages", "application/json", `{"rows": [` + row + `]}`, 200},
		{"POST /v1/advantages", "/v1/advantages", ndjson, row + "\n", 200},
		{"PUT /v1/rewards/{ref}", "/v1/rewards/new", "text/x-python", "length", 201},
		{"PUT /v1/rewards/{ref}", "/v1/rewards/length@next", "application/json", `{"digest":"DIGEST"}`, 200},
		{"GET /v1/rewards", "/v1/rewards", "", "", 200},
		{"GET /v1/rewards/{ref}", "/v1/rewards/length", "", "", 200},
		{"GET /v1/rewards/{ref}/manifest", "/v1/rewards/length/manifest", "", "", 200},
		{"GET /metrics", "/metrics", "", "", 200},
		{"GET /openapi.json", "/openapi.json", "", "", 200},
		{"GET /healthz", "/healthz", "", "", 200},
		{"GET /readyz", "/readyz", "", "", 200},
		{"GET /health", "/health", "", "", 200},
		{"GET /reverify_mode", "/reverify_mode", "", "", 200},
		{"POST /seed_session", "/seed_session", "application/json", `{}`, 200},
		{"POST /aggregate_metrics", "/aggregate_metrics", "application/json", `{"verify_responses":[{"reward":1}]}`, 200},
		{"DELETE /v1/rewards/{ref}", "/v1/rewards/new", "", "", 204},
	}
	for verb, body := range peerBodies {
		for path, route := range map[string]string{"/" + verb: "/" + verb, "/v1/rewards/length/" + verb: "/v1/rewards/{ref}/" + verb} {
			all = append(all, asked{"POST " + route, path, "application/json", body, 200})
		}
	}
	return all
}

var peerBodies = map[string]string{
	"evaluate":   `{"messages":[{"role":"assistant","content":"four"}]}`,
	"get_reward": `{"query":["q"],"prompts":["q"],"labels":["x"]}`,
	"run_code":   `{"code":"print(1)","language":"python"}`,
	"verify":     `{"responses_create_params":{"input":[]},"response":{"output":[{"type":"message","role":"assistant","content":[{"type":"output_text","text":"four"}]}]}}`,
}

// raw sends a request over a new connection, with the given number of bytes of its body, and
// closes the sending direction.
func (h *fixture) raw(t *testing.T, a asked, sent int, chunked bool) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(h.url, "http://"))
	require.NoError(t, err)
	t.Cleanup(func() { c.Close() })
	require.NoError(t, c.SetDeadline(time.Now().Add(waitABit)))
	method, _, _ := strings.Cut(a.route, " ")
	head := fmt.Sprintf("%s %s HTTP/1.1\r\nHost: 127.0.0.1\r\n", method, a.path)
	if a.kind != "" {
		head += "Content-Type: " + a.kind + "\r\n"
	}
	if chunked {
		head += fmt.Sprintf("Transfer-Encoding: chunked\r\n\r\n%x\r\n", len(a.body))
	} else {
		head += fmt.Sprintf("Content-Length: %d\r\n\r\n", len(a.body))
	}
	_, err = io.WriteString(c, head+a.body[:sent])
	require.NoError(t, err)
	require.NoError(t, c.(*net.TCPConn).CloseWrite())
	return c
}

// hear reads the response, before which an interim one may come.
func hear(t *testing.T, c net.Conn) (*http.Response, string, error) {
	t.Helper()
	from := bufio.NewReader(c)
	for {
		r, err := http.ReadResponse(from, nil)
		require.NoError(t, err)
		if r.StatusCode >= 200 {
			text, err := io.ReadAll(r.Body)
			return r, string(text), err
		}
	}
}

func halfFixture(t *testing.T) (*fixture, *strings.Replacer) {
	h := newFixture(t, func(o *serve.Options) { o.DefaultReward = "length" })
	_, text := h.do(t, "GET", "/v1/rewards/length", "")
	digest := regexp.MustCompile(`"digest":"(sha256:[0-9a-f]{64})"`).FindStringSubmatch(text)
	require.Len(t, digest, 2, text)
	return h, strings.NewReplacer("DIGEST", digest[1])
}

// Promise: every route answers a complete request of a client that has closed its sending
// direction as it answers any other.
func TestEveryRouteAnswersHalfClosedClients(t *testing.T) {
	h, fill := halfFixture(t)
	left := h.Routes()
	for _, a := range everyRoute() {
		a.body = fill.Replace(a.body)
		r, text, err := hear(t, h.raw(t, a, len(a.body), false))
		require.NoError(t, err, a)
		require.Equal(t, a.status, r.StatusCode, "%v: %s", a, text)
		if a.status != http.StatusNoContent {
			require.NotEmpty(t, text, a)
		}
		if strings.HasPrefix(a.route, "POST /v1/evaluate") {
			require.Contains(t, text, `"score":4`, a)
		}
		left = slices.DeleteFunc(left, func(route string) bool { return route == a.route })
	}
	require.Empty(t, left, "routes that were not asked")
	resp, _ := h.do(t, "GET", "/v1/rewards/length@next", "")
	require.Equal(t, 200, resp.StatusCode, "what was acknowledged was done")
}

// Promise: an incomplete body is never answered with success: the client gets an error or, if
// the response has begun, one that is cut off.
func TestEveryRouteRefusesBrokenBodies(t *testing.T) {
	h, fill := halfFixture(t)
	for _, a := range everyRoute() {
		if a.body = fill.Replace(a.body); a.body == "" {
			continue
		}
		for _, chunked := range []bool{false, true} {
			r, text, err := hear(t, h.raw(t, a, len(a.body)-1, chunked))
			if r.StatusCode == http.StatusOK && a.kind == ndjson {
				require.ErrorIs(t, err, io.ErrUnexpectedEOF, text)
				continue
			}
			require.NoError(t, err, a)
			require.GreaterOrEqual(t, r.StatusCode, 400, "%v: %s", a, text)
			require.NotEmpty(t, text, a)
		}
	}
	resp, _ := h.do(t, "GET", "/v1/rewards/new", "")
	require.Equal(t, 404, resp.StatusCode, "half an upload is not stored")
}

// Promise: a stream that the server cuts off does not end like a complete one, nor does one
// whose reward panics.
func TestStreamsThatAreCutOff(t *testing.T) {
	h := newFixture(t)
	x := h.talk(t, http.DefaultClient, h.url+"/v1/evaluate?reward=length")
	x.say(conversation("a", "", "x"))
	require.Contains(t, x.hear(), `"score":1`)
	h.http.CloseClientConnections()
	_, err := io.ReadAll(x.out)
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	x.in.Close()

	x = h.talk(t, http.DefaultClient, h.url+"/v1/evaluate?reward=length")
	x.say(conversation("a", "", "x"))
	require.Contains(t, x.hear(), `"score":1`)
	h.http.Config.Close()
	_, err = io.ReadAll(x.out)
	require.Error(t, err)
	x.in.Close()
}

// Promise: an evaluation whose half-closed client waits behind others is done when its turn
// comes.
func TestHalfClosedClientsKeepTheirTurn(t *testing.T) {
	h := newFixture(t, func(o *serve.Options) { o.Registry = tenant.Local(tenant.Limits{Concurrency: 1}) })
	a := asked{route: "POST /v1/evaluate", path: "/v1/evaluate?reward=wait", kind: "application/json", body: "[" + conversation("a", "", "four") + "]"}
	first := h.raw(t, a, len(a.body), false)
	require.Eventually(t, func() bool { return h.started.Load() == 1 }, waitABit, poll)
	second := h.raw(t, a, len(a.body), false)
	time.Sleep(100 * time.Millisecond) // so that a client that is gone would be noticed
	h.tokens <- struct{}{}
	h.tokens <- struct{}{}
	for _, c := range []net.Conn{first, second} {
		r, text, err := hear(t, c)
		require.NoError(t, err)
		require.Equal(t, 200, r.StatusCode)
		require.Contains(t, text, `"score":4`)
	}
	require.Zero(t, h.left.Load())
}
