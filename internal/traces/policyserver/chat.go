package policyserver

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/base/strictjson"
	"github.com/merit-rl/merit/internal/traces/learning"
)

// maxBody is the maximum number of bytes of a request.
const maxBody = 8 << 20

// request has the supported fields of OpenAI's requests.
type request struct {
	Model       string       `json:"model"`
	Messages    []rl.Message `json:"messages"`
	Temperature *float64     `json:"temperature"`
	Seed        *uint64      `json:"seed"`
	N           *int         `json:"n"`
	Stream      bool         `json:"stream"`
	LogProbs    bool         `json:"logprobs"`
}

// decode reads a request and returns an error if it asks for something unsupported.
func decode(body []byte) (request, learning.Call, error) {
	var q request
	if err := strictjson.Unmarshal(body, &q); err != nil {
		return q, learning.Call{}, fmt.Errorf("the body is not a chat completion request: %w", err)
	}
	c := learning.Call{Messages: q.Messages, Choices: learning.Offered(body)}
	switch t := q.Temperature; {
	case t != nil && *t != 0 && *t != 1:
		return q, c, fmt.Errorf("temperature must be 0 (the most probable choice) or 1 (sample from the policy), not %v", *t)
	case q.N != nil && *q.N != 1:
		return q, c, fmt.Errorf("n must be 1, not %d: send one request for each answer", *q.N)
	case t != nil && *t == 0:
		c.Greedy = true
	}
	if q.Seed != nil {
		c.Seed = rl.Seed(*q.Seed)
		return q, c, nil
	}
	var random [8]byte
	_, _ = rand.Read(random[:]) // never fails
	c.Seed = rl.Seed(binary.LittleEndian.Uint64(random[:]))
	return q, c, nil
}

// complete answers a chat completion.
func (s *Server) complete(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		fail(w, http.StatusRequestEntityTooLarge, "invalid_request_error", fmt.Sprintf("the request is truncated, or longer than %d bytes", maxBody))
		return
	}
	q, call, err := decode(body)
	if err != nil {
		fail(w, http.StatusBadRequest, "invalid_request_error", err.Error())
		return
	}
	a, err := s.player.Answer(r.Context(), call)
	if err != nil {
		status := http.StatusInternalServerError
		if f := fault.As(err); f != nil && f.Kind == fault.Invalid {
			status = http.StatusBadRequest
			err = fmt.Errorf("%s; %s", f.What, f.Hint)
		}
		fail(w, status, "invalid_request_error", err.Error())
		return
	}
	if q.Stream {
		s.stream(w, q, a)
		return
	}
	reply(w, http.StatusOK, s.answer("chat.completion", q, "message", map[string]any{"role": "assistant", "content": a.Text}, a, "stop"))
}

// answer returns a body in OpenAI's form with one choice. The log-probability belongs
// to the whole choice, so that the choice is reported as one token.
func (s *Server) answer(object string, q request, field string, message map[string]any, a learning.Answer, finish any) map[string]any {
	choice := map[string]any{"index": 0, field: message, "finish_reason": finish, "logprobs": nil}
	if q.LogProbs && finish != nil {
		choice["logprobs"] = map[string]any{"content": []any{map[string]any{"token": a.Text, "logprob": a.LogProb, "bytes": nil, "top_logprobs": []any{}}}}
	}
	return map[string]any{
		"id": "chatcmpl-merit", "object": object, "created": time.Now().Unix(), "model": s.cfg.Name, "choices": []any{choice},
		"usage": map[string]int{"prompt_tokens": 0, "completion_tokens": 1, "total_tokens": 1},
	}
}

// stream answers with server-sent events; the whole text is in one event.
func (s *Server) stream(w http.ResponseWriter, q request, a learning.Answer) {
	w.Header().Set("Content-Type", "text/event-stream")
	for _, chunk := range []map[string]any{
		s.answer("chat.completion.chunk", q, "delta", map[string]any{"role": "assistant", "content": ""}, a, nil),
		s.answer("chat.completion.chunk", q, "delta", map[string]any{"content": a.Text}, a, "stop"),
	} {
		text, err := json.Marshal(chunk)
		if err != nil {
			return
		}
		fmt.Fprintf(w, "data: %s\n\n", text)
	}
	io.WriteString(w, "data: [DONE]\n\n")
}
