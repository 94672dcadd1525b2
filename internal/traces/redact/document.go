package redact

import (
	"encoding/json"
	"strings"

	"github.com/merit-rl/merit/internal/base/strictjson"
)

// JSON returns raw, which must be valid JSON, with its secrets redacted: values of
// secret names, and secrets found in its texts. It keeps everything else byte for
// byte.
func (r *Redactor) JSON(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return raw
	}
	return json.RawMessage(r.document(string(raw), false, 0))
}

func looksLikeJSON(text string) bool {
	text = strings.TrimLeft(text, " \t\r\n")
	return text != "" && strings.IndexByte(`{["`, text[0]) >= 0
}

// document redacts valid JSON. secret is true for the value of a secret name: then
// all texts and numbers are redacted, also in lists. Objects inside it are judged by
// their own names, because a JSON schema can have properties that are named password.
func (r *Redactor) document(text string, secret bool, depth int) string {
	var b strings.Builder
	written := 0
	put := func(from, to int, value string) {
		b.WriteString(text[written:from])
		b.WriteString(value)
		written = to
	}
	within := []bool{secret} // whether a value is a secret, by depth
	next := secret           // whether the next value is one
	for at := 0; at < len(text); {
		switch c := text[at]; {
		case c == '"':
			end := closing(text, at) + 1
			inner := decoded(text[at:end])
			name := strings.HasPrefix(strings.TrimLeft(text[end:], " \t\r\n"), ":")
			cleaned := r.text(inner, depth+1)
			if next && !name && inner != "" {
				cleaned = r.marked(inner)
			}
			if cleaned != inner {
				put(at, end, encoded(cleaned))
			}
			next = within[len(within)-1]
			if name {
				next = r.secret(inner)
			}
			at = end
		case c == '[':
			within, at = append(within, next), at+1
		case c == '{':
			within, next, at = append(within, false), false, at+1
		case c == ']' || c == '}':
			within, at = within[:len(within)-1], at+1
			next = within[len(within)-1]
		case c == '-' || c >= '0' && c <= '9':
			end := at + 1
			for end < len(text) && strings.IndexByte("0123456789+-.eE", text[end]) >= 0 {
				end++
			}
			if next {
				put(at, end, encoded(r.marked(text[at:end])))
			}
			next, at = within[len(within)-1], end
		case c == ',':
			next, at = within[len(within)-1], at+1
		default:
			at++
		}
	}
	if written == 0 {
		return text
	}
	b.WriteString(text[written:])
	return b.String()
}

// marked returns the mark that replaces a value with a secret name.
func (r *Redactor) marked(value string) string {
	if strings.HasPrefix(value, "[redacted:") {
		return value
	}
	r.found[keyRule].Add(1)
	return Mark(keyRule)
}

// decoded returns the text of a JSON string.
func decoded(quoted string) string {
	if strings.IndexByte(quoted, '\\') < 0 {
		return quoted[1 : len(quoted)-1]
	}
	var text string
	if err := strictjson.Unmarshal([]byte(quoted), &text); err != nil {
		return quoted[1 : len(quoted)-1] // unreachable: the document is valid
	}
	return text
}

func encoded(text string) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(text); err != nil {
		return `""` // unreachable: a string can be encoded
	}
	return strings.TrimSuffix(b.String(), "\n")
}
