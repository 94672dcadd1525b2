package rowio

import (
	"bytes"
	"encoding/json"
	"strings"
)

// member is one field of a JSON object: the spans of its key (with quotes) and
// its value in the line.
type member struct{ keyStart, keyEnd, valueStart, end int }

// members appends the fields of the object in line, which must be valid JSON
// and begin with '{', to dst.
func members(dst []member, line []byte) []member {
	i := 1
	for {
		i = skipSpace(line, i)
		if line[i] == ',' {
			i = skipSpace(line, i+1)
		}
		if line[i] == '}' {
			return dst
		}
		m := member{keyStart: i, keyEnd: skipString(line, i)}
		i = skipSpace(line, m.keyEnd) + 1 // the colon
		m.valueStart = skipSpace(line, i)
		m.end = skipValue(line, m.valueStart)
		i = m.end
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
	for i++; b[i] != '"'; i++ {
		if b[i] == '\\' {
			i++
		}
	}
	return i + 1
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
			for strings.IndexByte(",:]} \t\r", b[i]) < 0 {
				i++
			}
		}
		if depth == 0 {
			return i
		}
	}
}

// text returns the content of the JSON string in raw.
func text(raw []byte) []byte {
	if bytes.IndexByte(raw, '\\') < 0 {
		return raw[1 : len(raw)-1]
	}
	var s string
	_ = json.Unmarshal(raw, &s) // raw is a valid JSON string
	return []byte(s)
}

// overflowing returns line with the tokens NaN, Infinity and -Infinity, which
// some encoders write though JSON has none, replaced by a number that no
// float64 holds; so they are found to be not finite, by name and step, like
// any other number.
func overflowing(line []byte) []byte {
	var out []byte
	for i := 0; i < len(line); {
		switch {
		case line[i] == '"':
			start := i
			for i++; i < len(line) && line[i] != '"'; i++ {
				if line[i] == '\\' {
					i++
				}
			}
			i = min(i+1, len(line))
			out = append(out, line[start:i]...)
		case bytes.HasPrefix(line[i:], []byte("NaN")):
			out, i = append(out, "1e999"...), i+len("NaN")
		case bytes.HasPrefix(line[i:], []byte("Infinity")):
			out, i = append(out, "1e999"...), i+len("Infinity")
		default:
			out, i = append(out, line[i]), i+1
		}
	}
	return out
}
