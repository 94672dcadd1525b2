package serve_test

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/internal/serve"
	"github.com/merit-rl/merit/internal/serve/shape"
	"github.com/merit-rl/merit/internal/serve/tenant"
	"github.com/stretchr/testify/require"
)

// bodies are requests in the formats of tools that take a score.
func bodies(said string) map[shape.Peer]string {
	return map[shape.Peer]string{
		shape.EvalProtocol: fmt.Sprintf(`{"messages":[{"role":"assistant","content":%q}],"ground_truth":"x","kwargs":{}}`, said),
		shape.OpenRLHF:     fmt.Sprintf(`{"query":["Q:%s"],"prompts":["Q:"],"labels":["x"]}`, said),
		shape.NeMoGym:      fmt.Sprintf(`{"responses_create_params":{"input":"Q"},"response":{"output":[{"role":"assistant","content":%q}]}}`, said),
	}
}

// Promise: each tool's format is answered at its own path, with the reward in the path or the
// server's default.
func TestPeers(t *testing.T) {
	h := newFixture(t, func(o *serve.Options) { o.DefaultReward = "length" })
	for p, want := range map[shape.Peer]string{shape.EvalProtocol: `"score":5.0,"is_score_valid":true`, shape.OpenRLHF: `"rewards":[5.0]`, shape.NeMoGym: `"reward":5.0,"merit_outcome":"scored"`} {
		for _, path := range []string{"/", "/v1/rewards/length/", "/v1/rewards/length@latest/"} {
			resp, text := h.do(t, "POST", path+p.Verb()+"?fuel=1000&function=f&with={}", bodies("three")[p])
			require.Equal(t, http.StatusOK, resp.StatusCode, text)
			require.Contains(t, text, want)
			require.Equal(t, "error", resp.Header.Get("Merit-On-Unscored"))
			require.Equal(t, "0", resp.Header.Get("Merit-Unscored"))
			require.Equal(t, "scored=1", resp.Header.Get("Merit-Outcomes"))
			require.NotEmpty(t, resp.Header.Get("Merit-Reward"))
		}
	}
}

// Promise: an evaluation without a score is answered as the request or else the operator chose.
// Both are reported in headers and counted.
func TestPeersUnscored(t *testing.T) {
	testneeds.NotShort(t)
	minus, err := shape.ParseOnUnscored("-1")
	require.NoError(t, err)
	for _, c := range []struct {
		server shape.OnUnscored
		query  string
		status int
		on     string
	}{
		{shape.OnUnscored{}, "", 422, "error"},
		{minus, "", 200, "-1"},
		{minus, "?on_unscored=error", 422, "error"},
		{shape.OnUnscored{}, "?on_unscored=-2.5", 200, "-2.5"},
	} {
		h := newFixture(t, func(o *serve.Options) { o.DefaultReward, o.OnUnscored = "length", c.server })
		for p, body := range bodies("trap") {
			resp, text := h.do(t, "POST", "/"+p.Verb()+c.query, body)
			require.Equal(t, c.status, resp.StatusCode, text)
			require.Equal(t, c.on, resp.Header.Get("Merit-On-Unscored"))
			require.Equal(t, "1", resp.Header.Get("Merit-Unscored"))
			require.Equal(t, "trap=1", resp.Header.Get("Merit-Outcomes"))
			if c.status == 200 {
				require.Contains(t, text, c.on)
			} else {
				require.Contains(t, text, "trap (unreachable)")
				require.Equal(t, "application/problem+json", resp.Header.Get("Content-Type"))
			}
		}
		_, text := h.do(t, "GET", "/metrics", "")
		policy := map[int]string{200: "number", 422: "error"}[c.status]
		for p := range bodies("") {
			require.Contains(t, text, fmt.Sprintf("merit_unscored_answered_total{policy=%q,shape=%q,tenant=\"local\"} 1", policy, p))
		}
	}
}

// Promise: a request to run code goes to the reward in the path or the default one. A reward that
// does not run code, and one that fails, are errors of the sandbox, and never an output.
func TestRunCode(t *testing.T) {
	h := newFixture(t, func(o *serve.Options) { o.DefaultReward = "length" })
	for _, c := range [][3]string{
		{"/run_code", "print(1)", `"status":"SandboxError","message":"the reward reports no stdout, stderr and verdict`},
		{"/v1/rewards/length/run_code", "print(1)", `"run_result":null`},
		{"/v1/rewards/length/run_code", "trap", `"status":"SandboxError","message":"trap: unreachable"`},
	} {
		resp, text := h.do(t, "POST", c[0], fmt.Sprintf(`{"code":%q,"language":"python","stdin":null,"files":{},"fetch_files":[]}`, c[1]))
		require.Equal(t, http.StatusOK, resp.StatusCode, text)
		require.Contains(t, text, c[2])
	}
	resp, text := h.do(t, "POST", "/run_code", `{"code":"1","language":"python","files":{"a":"eA=="}}`)
	require.Equal(t, http.StatusUnprocessableEntity, resp.StatusCode)
	require.Contains(t, text, "programs have no files")
}

// Promise: every invalid request of another tool gets a status that its client does not retry
// forever, and tells what to do.
func TestPeersBadRequests(t *testing.T) {
	h := newFixture(t, func(o *serve.Options) { o.Limits = serve.Limits{Batch: 2, Conversation: 100} })
	good := bodies("x")[shape.OpenRLHF]
	for _, c := range []struct {
		path, body string
		status     int
		says       string
	}{
		{"/get_reward", good, 404, "the server has no default"},
		{"/v1/rewards/nobody/get_reward", good, 404, "nobody"},
		{"/v1/rewards/length/get_reward?on_unscored=nan&x=1", good, 400, `\"nan\" is not allowed`},
		{"/v1/rewards/length/verify?on_unscored=null", bodies("x")[shape.NeMoGym], 400, "NeMo Gym does not accept null"},
		{"/v1/rewards/length/evaluate?on_unscored=null", bodies("x")[shape.EvalProtocol], 400, "eval-protocol does not accept null"},
		{"/v1/rewards/length/evaluate?ground_truth=x", bodies("x")[shape.EvalProtocol], 400, "is not a parameter"},
		{"/v1/rewards/length/verify?ground_truth=x", bodies("x")[shape.NeMoGym], 422, `the row has no field`},
		{"/v1/rewards/group/get_reward", good, 422, "compares the members of a group"},
		{"/v1/rewards/length/get_reward", `{"query":["a"],"prompts":["b"]}`, 422, "does not begin with prompts[0]"},
		{"/v1/rewards/length/get_reward", `{"query":["a","a","a"],"prompts":["a","a","a"]}`, 413, "3 queries exceed the limit"},
		{"/v1/rewards/length/get_reward", fmt.Sprintf(`{"query":[%q],"prompts":["a"]}`, strings.Repeat("a", 100)), 413, "bytes of one trajectory exceed the limit"},
		{"/v1/rewards/length/get_reward", `{`, 400, "is not JSON"},
		{"/aggregate_metrics", `{}`, 422, "verify_responses"},
	} {
		resp, text := h.do(t, "POST", c.path, c.body)
		require.Equal(t, c.status, resp.StatusCode, "%s %s: %s", c.path, c.body, text)
		require.Contains(t, text, c.says)
		require.Contains(t, text, `"hint"`)
	}
	resp, _ := h.do(t, "POST", "/v1/rewards/length/verify", bodies("x")[shape.NeMoGym], "Content-Type", "text/plain")
	require.Equal(t, http.StatusUnsupportedMediaType, resp.StatusCode)
}

// Promise: null is sent only to the one client that accepts it.
func TestPeersNull(t *testing.T) {
	h := newFixture(t)
	resp, text := h.do(t, "POST", "/v1/rewards/length/get_reward?on_unscored=null", bodies("trap")[shape.OpenRLHF])
	require.Equal(t, http.StatusOK, resp.StatusCode)
	require.JSONEq(t, `{"rewards":null,"scores":null,"extra_logs":{"merit_unscored":[1]}}`, text)
}

// Promise: the other calls of NeMo Gym's agents are answered, and so is eval-protocol's health
// check, which needs no key.
func TestPeersBesides(t *testing.T) {
	h := newFixture(t, func(o *serve.Options) { o.DefaultReward = "length" })
	resp, text := h.do(t, "POST", "/seed_session", `{"responses_create_params":{}}`)
	require.Equal(t, http.StatusOK, resp.StatusCode)
	require.JSONEq(t, `{}`, text)
	_, text = h.do(t, "POST", "/aggregate_metrics", `{"verify_responses":[{"reward":1},{"reward":2}]}`)
	require.Contains(t, text, `"key_metrics":{"mean/reward":1.5}`)
	resp, text = h.do(t, "GET", "/reverify_mode", "")
	require.Equal(t, http.StatusOK, resp.StatusCode)
	require.JSONEq(t, `"stateless"`, text)
	resp, text = h.do(t, "GET", "/health", "")
	require.Equal(t, "application/json", resp.Header.Get("Content-Type"))
	require.JSONEq(t, `{"status":"ok","reward_function":"length"}`, text)
}

// Promise: a client that cannot send a header can have its key in the URL, and one with an
// empty header is asked for a key.
func TestKeyInTheURL(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tenants.yaml")
	require.NoError(t, os.WriteFile(path, []byte("tenants: [{name: a}]\n"), 0o600))
	key, _, err := tenant.AddKey(path, "a", time.Now())
	require.NoError(t, err)
	h := newFixture(t, func(o *serve.Options) {
		registry, err := tenant.Load(path)
		require.NoError(t, err)
		o.Registry = registry
	})
	body := bodies("x")[shape.NeMoGym]
	basic := "Basic " + base64.StdEncoding.EncodeToString([]byte("gym:"+key))
	for header, want := range map[string]int{basic: 200, "Bearer " + key: 200, "": 401, "Basic " + base64.StdEncoding.EncodeToString([]byte(key+":")): 401} {
		resp, text := h.do(t, "POST", "/v1/rewards/length/verify", body, "Authorization", header)
		require.Equal(t, want, resp.StatusCode, text)
	}
}
