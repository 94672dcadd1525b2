package jsonl

import (
	"bytes"
	"encoding/json"
	"strings"
)

// Member is one field of a JSON object: the spans of its key (with quotes) and
// its value in the line.
type Member struct{ KeyStart, KeyEnd, ValueStart, End int }

// Members appends the fields of the object in line to dst. The line must be
// valid JSON on one line and begin with '{'.
func Members(dst []Member, line []byte) []Member {
	i := 1
	for {
		i = skipSpace(line, i)
		if line[i] == ',' {
			i = skipSpace(line, i+1)
		}
		if line[i] == '}' {
			return dst
		}
		m := Member{KeyStart: i, KeyEnd: skipString(line, i)}
		i = skipSpace(line, m.KeyEnd) + 1 // the colon
		m.ValueStart = skipSpace(line, i)
		m.End = skipValue(line, m.ValueStart)
		i = m.End
		dst = append(dst, m)
	}
}

func skipSpace(b []byte, i int) int {
	for b[i] == ' ' || b[i] == '\t' || b[i] == '\r' {
		i++
	}
	return i
}

// skipString returns the position behind the string that begins at i.
func skipString(b []byte, i int) int {
	i++
	for end := i + bytes.IndexByte(b[i:], '"'); ; {
		escape := bytes.IndexByte(b[i:end], '\\')
		if escape < 0 {
			return end + 1
		}
		if i += escape + 2; i > end {
			end = i + bytes.IndexByte(b[i:], '"')
		}
	}
}

// skipValue returns the position behind the value that begins at i.
func skipValue(b []byte, i int) int {
	depth := 0
	for {
		switch b[i] {
		case '"':
			i = skipString(b, i)
		case '{', '[':
			depth++
			i++
		case '}', ']':
			depth--
			i++
		case ',', ':', ' ', '\t', '\r':
			i++ // only inside a nested value
		default:
			for i < len(b) && strings.IndexByte(",:]} \t\r", b[i]) < 0 {
				i++
			}
		}
		if depth == 0 {
			return i
		}
	}
}

// Text returns the content of the JSON string in raw: a span of it, unless
// something is escaped.
func Text(raw []byte) []byte {
	if bytes.IndexByte(raw, '\\') < 0 {
		return raw[1 : len(raw)-1]
	}
	var s string
	_ = json.Unmarshal(raw, &s) // raw is a valid JSON string
	return []byte(s)
}
