package chat

import (
	"encoding/json"
	"net/http"
	"regexp"
	"strings"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/base/strictjson"
)

// complaint is what servers say beside a status that is not 200. OpenAI,
// llama.cpp and newer versions of vLLM and SGLang have it below "error", older
// ones at the top, FastAPI as "detail".
type complaint struct {
	Message string          `json:"message"`
	Type    string          `json:"type"`
	Code    json.RawMessage `json:"code"` // text or number
	Detail  json.RawMessage `json:"detail"`
	Error   json.RawMessage `json:"error"`
}

// heard reads a complaint: its words, and its type and code together.
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

// passed is the status that a gateway got, which it gives as the code of an
// error within a 200.
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
	// tooLong knows a context overflow by its class (llama.cpp, OpenAI) or its
	// words (vLLM and SGLang in several versions, and what stands behind
	// gateways).
	tooLong = regexp.MustCompile(`(?i)exceed_context_size_error|context_length_exceeded|model_context_window_exceeded|` +
		`maximum (context|model|prompt|input) length|max_model_len|(exceeds?|than) (the )?(model's |available |maximum )*(context|input) (length|size|window)|` +
		`prompt is too long|max_tokens must be at least 1, got -`)
	filtered = regexp.MustCompile(`(?i)content_filter|content_policy_violation|ResponsibleAIPolicyViolation`)
	empty    = regexp.MustCompile(`(?i)insufficient_quota|billing_hard_limit`)
	loading  = regexp.MustCompile(`(?i)\bloading\b`)
)

// refusal makes an error of a status that is not 200.
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
		f := said(c.fault, fault.Exhausted, "the conversation was refused", "shorten it, ask for fewer tokens, or start the server with a longer context")
		f.Err = ErrContext
		return f
	case (asks || s == http.StatusForbidden) && filtered.MatchString(all):
		f := said(c.fault, fault.Refused, "the conversation was refused", "look at what it says, or use a server without a filter")
		f.Err = ErrFilter
		return f
	case (s == http.StatusUnauthorized || s == http.StatusForbidden) && c.key == "":
		return said(c.refused, fault.Missing, "the server wants an API key", "put the key into an environment variable and name that with key_env")
	case s == http.StatusUnauthorized || s == http.StatusForbidden:
		return said(c.refused, fault.Invalid, "the server does not accept the API key", "correct the environment variable "+c.config.KeyEnv+", and see what the key is allowed to do")
	case s == http.StatusNotFound:
		return said(c.refused, fault.Missing, "the server has no such model or path", "correct model, or url: it usually ends in /v1")
	case s == http.StatusRequestTimeout:
		return said(c.again, fault.Timeout, "the server waited too long", "look at the server's log")
	case s == http.StatusTooManyRequests && empty.MatchString(all):
		return said(c.refused, fault.Exhausted, "the account has nothing left", "see the plan and bills of the account")
	case s == http.StatusTooManyRequests:
		return said(c.again, fault.Exhausted, "the server has had too many requests", "set requests_per_minute or tokens_per_minute, or lower max_concurrent")
	case s == http.StatusServiceUnavailable && loading.MatchString(all):
		return said(c.again, fault.Crashed, "the server is still loading its model", "wait until it is ready; raise retries if that takes long")
	case s == http.StatusNotImplemented:
		return said(c.fault, fault.Invalid, "the server cannot do this", "leave out what was asked for, or use another server")
	case s >= 500:
		return said(c.again, fault.Crashed, "the server failed", "look at the server's log")
	case s >= 300 && s < 400:
		return said(c.fault, fault.Refused, "the server sends the request elsewhere, which is not followed", "set url to the address of the API itself")
	case s >= 400:
		return said(c.again, fault.Invalid, "the server refuses the request", "correct what it names; extra, schema and tools differ between servers")
	}
	return said(c.again, fault.Protocol, "the server answers with a status that says nothing", "is url the base of an OpenAI-compatible API? It usually ends in /v1")
}
