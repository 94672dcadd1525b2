package enginetest_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/internal/engine"
	"github.com/merit-rl/merit/internal/engine/enginetest"
)

// post sends a JSON body and reads a JSON reply.
func post(t *testing.T, url, body string) (reply map[string]any) {
	t.Helper()
	res, err := http.Post(url, "application/json", strings.NewReader(body))
	require.NoError(t, err)
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, res.StatusCode, string(text))
	require.NoError(t, json.Unmarshal(text, &reply))
	return reply
}

// Promise: SkyRL serves a model, dies, and is there again with what it knew.
func TestSkyRL(t *testing.T) {
	s := enginetest.Start(t, engine.SkyRL(), enginetest.Tiny(t))
	session := post(t, s.URL+"/api/v1/create_session", `{"tags":[],"sdk_version":"test"}`)["session_id"].(string)
	url := s.URL
	s.Kill()
	_, err := http.Get(url)
	require.Error(t, err)

	s.Restart()
	require.Equal(t, url, s.URL)
	post(t, s.URL+"/api/v1/session_heartbeat", `{"session_id":"`+session+`"}`)
}

// Promise: llama.cpp answers with the small model, twice the same at temperature 0.
func TestLlama(t *testing.T) {
	s := enginetest.Start(t, engine.Llama(), engine.SmolLM2, func(o *engine.Options) { o.Slots, o.Context = 1, 256 })
	ask := func() string {
		reply := post(t, s.URL+"/v1/chat/completions", `{"messages":[{"role":"user","content":"Say hello."}],"max_tokens":8,"temperature":0}`)
		return reply["choices"].([]any)[0].(map[string]any)["message"].(map[string]any)["content"].(string)
	}
	said := ask()
	require.NotEmpty(t, said)
	require.Equal(t, said, ask())
}
