package dockerfile

import "strings"

// Expand replaces $NAME, ${NAME}, ${NAME:-default} and ${NAME:+other} in a word, and removes
// quotes and escapes.
func Expand(word string, value func(name string) (string, bool)) string {
	e := expander{text: word, value: value}
	return e.until(0)
}

type expander struct {
	text  string
	at    int
	value func(string) (string, bool)
}

// until expands to a closing character, or to the end if it is 0.
func (e *expander) until(end byte) string {
	var b strings.Builder
	quote := byte(0)
	for e.at < len(e.text) {
		c := e.text[e.at]
		e.at++
		switch {
		case c == end && end != 0 && quote == 0:
			return b.String()
		case c == '\\' && quote != '\'' && e.at < len(e.text):
			if quote == '"' && !strings.ContainsRune(`"\$`, rune(e.text[e.at])) {
				b.WriteByte(c)
			}
			b.WriteByte(e.text[e.at])
			e.at++
		case quote == 0 && (c == '"' || c == '\''):
			quote = c
		case c == quote && quote != 0:
			quote = 0
		case c == '$' && quote != '\'':
			b.WriteString(e.variable())
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// variable expands what follows a $.
func (e *expander) variable() string {
	if e.at < len(e.text) && e.text[e.at] == '{' {
		e.at++
		return e.braces()
	}
	name := e.name()
	if name == "" {
		return "$"
	}
	v, _ := e.value(name)
	return v
}

func (e *expander) name() string {
	from := e.at
	for e.at < len(e.text) && (isLetter(e.text[e.at]) || e.at > from && e.text[e.at] >= '0' && e.text[e.at] <= '9') {
		e.at++
	}
	return e.text[from:e.at]
}

func isLetter(c byte) bool { return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

// braces expands ${…}.
func (e *expander) braces() string {
	v, set := e.value(e.name())
	operator := ""
	if e.at < len(e.text) && e.text[e.at] == ':' {
		operator, e.at = ":", e.at+1
	}
	if e.at < len(e.text) && (e.text[e.at] == '-' || e.text[e.at] == '+') {
		operator, e.at = operator+e.text[e.at:e.at+1], e.at+1
	}
	other := e.until('}')
	there := set && (v != "" || !strings.HasPrefix(operator, ":"))
	switch {
	case strings.HasSuffix(operator, "-") && !there:
		return other
	case strings.HasSuffix(operator, "+") && there:
		return other
	case strings.HasSuffix(operator, "+"):
		return ""
	}
	return v
}
