package chat

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/merit-rl/merit/core/fault"
)

// Causes of failures that concern one request or one client. Find them in a *fault.Error with
// errors.Is.
var (
	// ErrContext means that the conversation and the requested tokens exceed the model's
	// context.
	ErrContext = errors.New("the conversation does not fit into the model's context")
	// ErrFilter means that a content filter of the server refused the conversation.
	ErrFilter = errors.New("a content filter refused the conversation")
	// ErrBudget means that the client has spent its budget.
	ErrBudget = errors.New("the budget is spent")
	// ErrClient means that the server accepts no request of this client, because of its key,
	// its model or its account.
	ErrClient = errors.New("the server refuses this client")
)

// fault returns an error about the model and server of the client.
func (c *Client) fault(kind fault.Kind, hint, format string, args ...any) *fault.Error {
	return &fault.Error{Boundary: fault.Model, Kind: kind, Where: c.where, What: fmt.Sprintf(format, args...), Hint: hint}
}

// refused returns the error of a problem that affects every request of the client.
func (c *Client) refused(kind fault.Kind, hint, format string, args ...any) *fault.Error {
	f := c.fault(kind, hint, format, args...)
	f.Err = ErrClient
	return f
}

// odd returns the error of an answer that is not the requested chat completion. It costs one
// request: Served checks beforehand whether the server is the intended one.
func (c *Client) odd(hint, format string, args ...any) *fault.Error {
	return c.again(fault.Protocol, hint, format, args...)
}

// again returns the error of a failure that may be temporary.
func (c *Client) again(kind fault.Kind, hint, format string, args ...any) *fault.Error {
	f := c.fault(kind, hint, format, args...)
	f.Retry = true
	return f
}

// plain makes untrusted text safe to print on one line: at most limit bytes of UTF-8, with
// unprintable characters escaped.
func plain(s string, limit int) string {
	s = cut(strings.ToValidUTF8(s, "\uFFFD"), limit)
	var b strings.Builder
	for _, r := range strings.Join(strings.Fields(s), " ") {
		if unicode.IsPrint(r) {
			b.WriteRune(r)
		} else {
			quoted := strconv.QuoteRune(r)
			b.WriteString(quoted[1 : len(quoted)-1])
		}
	}
	return cut(b.String(), limit)
}

func cut(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	end := limit - len("…")
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + "…"
}
