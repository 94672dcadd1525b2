package chat

import (
	"encoding/json"
	"net/http"
	"regexp"
	"strings"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/base/strictjson"
)

// complaint is the body of a response whose status is not 200. OpenAI, llama.cpp and newer
// versions of vLLM and SGLang put it in "error", older ones at the top level, FastAPI in
// "detail".
type complaint struct {
	Message string          `json:"message"`
	Type    string          `json:"type"`
	Code    json.RawMessage `json:"code"` // text or number
	Detail  json.RawMessage `json:"detail"`
	Error   json.RawMessage `json:"error"`
}

// heard reads a complaint and returns its message, and its type and code together.
func heard(body []byte) (words, class string) {
	var outer complaint
	if strictjson.Unmarshal(body, &outer) != nil {
		return plain(string(body), 300), ""
	}
	inner := outer
	if len(outer.Error) > 0 && strictjson.Unmarshal(outer.Error, &inner) != nil && strictjson.Unmarshal(outer.Error, &inner.Message) != nil {
		inner.Message = string(outer.Error)
	}
	words = inner.Message
	if words == "" {
		words = string(outer.Detail)
	}
	if words == "" {
		words = string(body)
	}
	return plain(words, 300), inner.Type + " " + strings.Trim(string(inner.Code), `"`)
}

// passed returns the status that a gateway received, which some gateways put as the code of an
// error into a response with status 200.
func passed(raw json.RawMessage) int {
	var inner struct {
		Code int `json:"code"`
	}
	if strictjson.Unmarshal(raw, &inner) == nil && inner.Code >= 400 && inner.Code < 600 {
		return inner.Code
	}
	return http.StatusBadGateway
}

var (
	// tooLong recognizes a context overflow by its class (llama.cpp, OpenAI) or its message
	// (several versions of vLLM and SGLang, and servers behind gateways).
	tooLong = regexp.MustCompile(`(?i)exceed_context_size_error|context_length_exceeded|model_context_window_exceeded|` +
		`maximum (context|model|prompt|input) length|max_model_len|(exceeds?|than) (the )?(model's |available |maximum )*(context|input) (length|size|window)|` +
		`prompt is too long|max_tokens must be at least 1, got -`)
	filtered = regexp.MustCompile(`(?i)content_filter|content_policy_violation|ResponsibleAIPolicyViolation`)
	empty    = regexp.MustCompile(`(?i)insufficient_quota|billing_hard_limit`)
	loading  = regexp.MustCompile(`(?i)\bloading\b`)
)

// refusal returns the error of a response whose status is not 200.
func (c *Client) refusal(a *answer) *fault.Error {
	words, class := heard(a.body)
	all := class + " " + words
	said := func(make func(fault.Kind, string, string, ...any) *fault.Error, kind fault.Kind, what, hint string) *fault.Error {
		if words == "" {
			return make(kind, hint, "%s (%d)", what, a.status)
		}
		return make(kind, hint, "%s (%d: %s)", what, a.status, words)
	}
	s := a.status
	asks := s == http.StatusBadRequest || s == http.StatusRequestEntityTooLarge || s == http.StatusUnprocessableEntity
	switch {
	case (asks || s == http.StatusInternalServerError) && tooLong.MatchString(all):
		f := said(c.fault, fault.Exhausted, "the conversation was refused", "shorten it, request fewer tokens, or start the server with a longer context")
		f.Err = ErrContext
		return f
	case (asks || s == http.StatusForbidden) && filtered.MatchString(all):
		f := said(c.fault, fault.Refused, "the conversation was refused", "check its content, or use a server without a filter")
		f.Err = ErrFilter
		return f
	case (s == http.StatusUnauthorized || s == http.StatusForbidden) && c.key == "":
		return said(c.refused, fault.Missing, "the server requires an API key", "put the key into an environment variable and name that with key_env")
	case s == http.StatusUnauthorized || s == http.StatusForbidden:
		return said(c.refused, fault.Invalid, "the server does not accept the API key", "correct the environment variable "+c.config.KeyEnv+", and check the permissions of the key")
	case s == http.StatusNotFound:
		return said(c.refused, fault.Missing, "the server does not have this model or path", "correct model, or url: it usually ends in /v1")
	case s == http.StatusRequestTimeout:
		return said(c.again, fault.Timeout, "the server timed out", "check the server's log")
	case s == http.StatusTooManyRequests && empty.MatchString(all):
		return said(c.refused, fault.Exhausted, "the account has no credit left", "check the plan and billing of the account")
	case s == http.StatusTooManyRequests:
		return said(c.again, fault.Exhausted, "the server received too many requests", "set requests_per_minute or tokens_per_minute, or lower max_concurrent")
	case s == http.StatusServiceUnavailable && loading.MatchString(all):
		return said(c.again, fault.Crashed, "the server is still loading its model", "wait until it is ready; raise retries if that takes long")
	case s == http.StatusNotImplemented:
		return said(c.fault, fault.Invalid, "the server does not support this request", "omit the unsupported setting, or use another server")
	case s >= 500:
		return said(c.again, fault.Crashed, "the server failed", "check the server's log")
	case s >= 300 && s < 400:
		return said(c.fault, fault.Refused, "the server redirects the request, and redirects are not followed", "set url to the address of the API itself")
	case s >= 400:
		return said(c.again, fault.Invalid, "the server refuses the request", "correct what the server names; support for extra, schema and tools differs between servers")
	}
	return said(c.again, fault.Protocol, "the server answers with an unexpected status", "check that url is the base of an OpenAI-compatible API; it usually ends in /v1")
}
