package trace

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/base/strictjson"
	"github.com/merit-rl/merit/internal/traces/trace"
)

// sender is the sink for a URL: the JSON endpoint of merit traces collect.
type sender struct {
	url, key string
	client   *http.Client
}

const local = "http://127.0.0.1:4318"

func newSender(base, key string) (*sender, error) {
	if base == "" {
		base = local
	}
	u, err := url.Parse(base)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, &fault.Error{Boundary: fault.Config, Kind: fault.Invalid, Where: "URL", What: fmt.Sprintf("%q is not the address of a collector", base), Hint: "set it to the address of merit traces collect, such as " + local}
	}
	return &sender{strings.TrimSuffix(base, "/") + "/v1/traces/spans", key, &http.Client{}}, nil
}

// Put implements trace.Sink.
func (s *sender) Put(ctx context.Context, spans []trace.Span, about []trace.About) error {
	body, err := json.Marshal(struct {
		Spans  []trace.Span  `json:"spans"`
		Traces []trace.About `json:"traces,omitempty"`
	}{spans, about})
	if err != nil {
		return &fault.Error{Boundary: fault.Data, Kind: fault.Invalid, Where: "spans", What: "cannot be written as JSON", Err: err, Hint: "correct the attributes of the spans"}
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	if s.key != "" {
		r.Header.Set("Authorization", "Bearer "+s.key)
	}
	answer, err := s.client.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(answer.Body, 64<<10)) // if reading fails, use what arrived
	if answer.StatusCode == http.StatusOK {
		return nil
	}
	f := &fault.Error{Boundary: fault.Server, Kind: fault.Refused, Where: s.url, What: fmt.Sprintf("answered %s: %s", answer.Status, detail(text)), Hint: "read the collector's answer and its log"}
	if answer.StatusCode >= 500 || answer.StatusCode == http.StatusTooManyRequests {
		f.Kind, f.Retry = fault.Exhausted, true
	}
	return f
}

// detail returns the detail of a problem document, or the text of another
// answer.
func detail(text []byte) string {
	var p struct {
		Detail string `json:"detail"`
	}
	if strictjson.Unmarshal(text, &p) == nil && p.Detail != "" {
		return p.Detail
	}
	return trace.Cut(string(text), 256)
}
