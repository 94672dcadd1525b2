package redact

import "strings"

// secretKeys lists the normalized names whose values are secrets.
var secretKeys = []string{
	"password", "passwd", "passphrase", "secret", "api_key", "apikey", "access_key", "accesskey", "secret_key", "secretkey", "private_key",
	"privatekey", "client_secret", "clientsecret", "access_token", "accesstoken", "refresh_token", "refreshtoken", "id_token", "auth_token",
	"authtoken", "api_token", "apitoken", "session_token", "sessiontoken", "bearer_token", "secret_access_key", "secretaccesskey", "authorization",
	"cookie", "credential", "connection_string",
}

// longestName is the maximum length of a name.
const longestName = 128

// normal converts a name to lower case, with _ for hyphens, dots and camel case:
// apiKey and API-KEY become api_key.
func normal(name string) string {
	var b strings.Builder
	for i := range len(name) {
		c := name[i]
		switch {
		case c == '-' || c == '.':
			c = '_'
		case c >= 'A' && c <= 'Z':
			if i > 0 && name[i-1] >= 'a' && name[i-1] <= 'z' {
				b.WriteByte('_')
			}
			c += 'a' - 'A'
		}
		b.WriteByte(c)
	}
	return b.String()
}

// secret reports whether values of that name are secrets.
func (r *Redactor) secret(name string) bool {
	if len(r.keys) == 0 || name == "" || len(name) > longestName {
		return false
	}
	name = normal(name)
	for {
		if r.keys[name] {
			return true
		}
		at := strings.IndexByte(name, '_')
		if at < 0 {
			return false
		}
		name = name[at+1:]
	}
}

// assigned finds values of secret names in text that is not JSON: KEY=value,
// "key": "value", and key: value if the value is the rest of the line.
func (r *Redactor) assigned(text string, add func(from, to int, name string)) {
	if len(r.keys) == 0 {
		return
	}
	for at := 0; ; at++ {
		next := strings.IndexAny(text[at:], "=:")
		if next < 0 {
			return
		}
		at += next
		name, quoted := nameBefore(text[:at])
		if !r.secret(name) {
			continue
		}
		from, to := valueAfter(text, at+1, text[at] == ':' && !quoted)
		if from < to {
			add(from, to, keyRule)
		}
		at = max(at, to-1)
	}
}

// nameBefore returns the name at the end of text, with or without quotes.
func nameBefore(text string) (name string, quoted bool) {
	text = strings.TrimRight(text[max(0, len(text)-longestName-16):], " \t")
	for len(text) > 0 && (text[len(text)-1] == '"' || text[len(text)-1] == '\'') {
		text, quoted = text[:len(text)-1], true
	}
	end := len(text)
	for end > 0 && (wordOrDash(text[end-1]) || text[end-1] == '.') {
		end--
	}
	return text[end:], quoted
}

// valueAfter returns the bounds of the value after a sign. If there is none, from
// equals to, and the search can resume at to. With alone, the value must be the rest
// of its line, because prose contains colons.
func valueAfter(text string, at int, alone bool) (from, to int) {
	for at < len(text) && (text[at] == ' ' || text[at] == '\t') {
		at++
	}
	switch {
	case at < len(text) && (text[at] == '"' || text[at] == '\''):
		return at + 1, closing(text, at)
	case alone:
		whole, first := line(text[at:])
		if whole == 0 {
			return at + first, at + first
		}
		to = at + whole
	default:
		to = at + run(text[at:])
	}
	value := text[at:to]
	call := to < len(text) && text[to] == '('
	if len(value) < 4 || call || strings.IndexByte("$<{[=(", value[0]) >= 0 || harmless(value) {
		return to, to
	}
	return at, to
}

// run returns the length of the value at the start of text.
func run(text string) int {
	if end := strings.IndexAny(text, " \t\r\n\"',;&}])("); end >= 0 {
		return end
	}
	return len(text)
}

// line returns the length of the first line of text if the line is one value,
// optionally after an authorization scheme as in headers, otherwise 0; and the length
// of its first word.
func line(text string) (whole, first int) {
	first = wordLength(text)
	gap := len(text[first:]) - len(strings.TrimLeft(text[first:], " \t\r"))
	second := wordLength(text[first+gap:])
	end := first + gap + second
	rest := strings.TrimLeft(text[end:], " \t\r")
	switch {
	case rest != "" && rest[0] != '\n', second > 0 && second < 12:
		return 0, first
	case second == 0:
		return first, first
	}
	return end, first
}

// wordLength returns the length of the word at the start of text.
func wordLength(text string) int {
	if end := strings.IndexAny(text, " \t\r\n"); end >= 0 {
		return end
	}
	return len(text)
}

// closing returns the end of the quoted text that begins at at: the matching quote,
// or the end of text.
func closing(text string, at int) int {
	for i := at + 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case text[at]:
			return i
		}
	}
	return len(text)
}

// harmless reports whether a value is a reference or placeholder, not a secret.
func harmless(value string) bool {
	switch strings.ToLower(value) {
	case "none", "null", "true", "false", "undefined":
		return true
	}
	return strings.HasPrefix(value, "os.") || strings.HasPrefix(value, "process.env")
}
