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

// What is the matter with one request. They are causes within a *fault.Error
// and found by errors.Is.
var (
	// ErrContext: the conversation, with the tokens asked for, is longer than
	// the model's context.
	ErrContext = errors.New("it does not fit into the model's context")
	// ErrFilter: a content filter of the server refused the conversation.
	ErrFilter = errors.New("a content filter refused it")
	// ErrBudget: the client has spent its budget.
	ErrBudget = errors.New("the budget is spent")
	// ErrClient: the server accepts no request of this client, because of its
	// key, its model or its account.
	ErrClient = errors.New("the server refuses this client")
)

// fault makes an error of the model at the client's server.
func (c *Client) fault(kind fault.Kind, hint, format string, args ...any) *fault.Error {
	return &fault.Error{Boundary: fault.Model, Kind: kind, Where: c.where, What: fmt.Sprintf(format, args...), Hint: hint}
}

// refused is fault for what is wrong with every request of the client.
func (c *Client) refused(kind fault.Kind, hint, format string, args ...any) *fault.Error {
	f := c.fault(kind, hint, format, args...)
	f.Err = ErrClient
	return f
}

// odd is the error of an answer that is not the chat completion that was asked
// for. It costs one request: Served says beforehand whether the server is the one
// that was meant.
func (c *Client) odd(hint, format string, args ...any) *fault.Error {
	return c.again(fault.Protocol, hint, format, args...)
}

// again is fault for what may be otherwise the next time.
func (c *Client) again(kind fault.Kind, hint, format string, args ...any) *fault.Error {
	f := c.fault(kind, hint, format, args...)
	f.Retry = true
	return f
}

// plain makes text of a stranger fit to be shown on one line: at most limit
// bytes of UTF-8, what does not print escaped.
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
