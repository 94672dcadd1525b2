package rowio

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"github.com/merit-rl/merit/internal/base/strictjson"
)

// notObject returns why line is not a row, or "". It also returns the line to
// parse.
func notObject(line []byte) ([]byte, string) {
	if !utf8.Valid(line) {
		return nil, "is not UTF-8"
	}
	if !json.Valid(line) {
		if line = overflowing(line); !json.Valid(line) {
			return nil, fmt.Sprintf("is not JSON: %s", jsonFault(line))
		}
	}
	if line[0] != '{' {
		return nil, "is not a JSON object"
	}
	return line, ""
}

// overflowing returns line with the tokens NaN, Infinity and -Infinity, which some encoders
// write although they are not JSON, replaced by a number too large for a float64. They are
// then reported as not finite, by name and step, like any other
// number.
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

func jsonFault(line []byte) string {
	var v any
	return strictjson.Unmarshal(line, &v).Error()
}
