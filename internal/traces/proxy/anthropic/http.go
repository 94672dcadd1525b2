package anthropic

import (
	"encoding/json"
	"net/http"
	"strings"
)

// Speaks reports whether a request is one of Anthropic's API: its clients send the version
// of the API, and their key as X-Api-Key.
func Speaks(r *http.Request) bool {
	path := strings.TrimSuffix(r.URL.Path, "/")
	return r.Header.Get("Anthropic-Version") != "" || strings.HasSuffix(path, "/v1/messages") || strings.Contains(path, "/v1/messages/")
}

// Authorize replaces the key of a request. An access token of an account goes into
// Authorization, a key of the API into X-Api-Key; the API refuses both at once.
func Authorize(h http.Header, key string) {
	h.Del("X-Api-Key")
	h.Del("Authorization")
	if strings.HasPrefix(key, "sk-ant-oat") {
		h.Set("Authorization", "Bearer "+key)
		return
	}
	h.Set("X-Api-Key", key)
}

// kinds are the types of errors by status.
var kinds = map[int]string{
	http.StatusBadRequest: "invalid_request_error", http.StatusUnauthorized: "authentication_error", http.StatusForbidden: "permission_error",
	http.StatusTooManyRequests: "rate_limit_error",
}

// Error returns the body of an error, which clients raise as an exception.
func Error(status int, message string) []byte {
	type said struct {
		Type    string `json:"type"`
		Message string `json:"message"`
	}
	kind := kinds[status]
	if kind == "" {
		kind = "api_error"
	}
	text, _ := json.Marshal(struct {
		Type  string `json:"type"`
		Error said   `json:"error"`
	}{"error", said{kind, message}}) // strings: encoding cannot fail
	return text
}
