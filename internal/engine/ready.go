package engine

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"time"
)

// pause is how long to wait between two questions whether a server is ready.
const pause = 100 * time.Millisecond

// await returns when the server answers, with an error when it has ended.
func (s *Server) await(ctx context.Context, tinker bool) error {
	client := &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	ask := s.healthy
	if tinker {
		ask = s.engineAnswers
	}
	for !ask(ctx, client) {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-s.exited:
			return s.Err()
		case <-time.After(pause):
		}
	}
	return nil
}

// healthy asks a server of llama.cpp, which says no while it loads a model.
func (s *Server) healthy(ctx context.Context, client *http.Client) bool {
	status, _ := request(ctx, client, http.MethodGet, s.URL+"/health", "")
	return status == http.StatusOK
}

// engineAnswers asks SkyRL for something that only its engine can refuse: its API
// is there, and calls itself healthy, long before the engine has loaded the model.
func (s *Server) engineAnswers(ctx context.Context, client *http.Client) bool {
	const nobody = `{"base_model":"merit asks whether the engine is there","num_samples":1,
		"prompt":{"chunks":[{"type":"encoded_text","tokens":[0]}]},"sampling_params":{"max_tokens":1,"seed":0}}`
	status, reply := request(ctx, client, http.MethodPost, s.URL+"/api/v1/asample", nobody)
	_, id, found := strings.Cut(reply, `"request_id":"`)
	if status != http.StatusOK || !found {
		return false
	}
	id, _, _ = strings.Cut(id, `"`)
	for ctx.Err() == nil {
		select {
		case <-s.exited:
			return false
		default:
		}
		status, reply = request(ctx, client, http.MethodPost, s.URL+"/api/v1/retrieve_future", `{"request_id":"`+id+`"}`)
		if status == http.StatusBadRequest && strings.Contains(reply, "Engine is configured for") {
			return true
		}
	}
	return false
}

// request returns the status, 0 if there is none, and the beginning of the body.
func request(ctx context.Context, client *http.Client, method, url, body string) (int, string) {
	req, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader([]byte(body)))
	if err != nil {
		return 0, ""
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	res, err := client.Do(req)
	if err != nil {
		return 0, ""
	}
	defer res.Body.Close()
	text, err := io.ReadAll(io.LimitReader(res.Body, 1<<12))
	if err != nil {
		return 0, ""
	}
	return res.StatusCode, string(text)
}
