package columns

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/merit-rl/merit/internal/base/jsonspan"
)

// eachMember calls f for the members of the object in text, which is valid JSON.
func eachMember(text []byte, f func(name string, value []byte)) {
	var room [32]jsonspan.Member
	for _, m := range jsonspan.Members(room[:0], text) {
		f(string(jsonspan.Text(text[m.KeyStart:m.KeyEnd])), text[m.ValueStart:m.End])
	}
}

// eachElement calls f for the elements of the array in text, which is valid JSON.
func eachElement(text []byte, f func(value []byte)) {
	elements, _ := jsonspan.Elements(text, len(text))
	for _, v := range elements {
		f(v)
	}
}

// validUTF8 returns a row with invalid UTF-8 replaced, as encoding/json does.
func validUTF8(row []byte) []byte {
	if utf8.Valid(row) {
		return row
	}
	return bytes.ToValidUTF8(row, []byte(string(utf8.RuneError)))
}

// exactString reports whether a Go string can represent a JSON string exactly; half of a
// surrogate pair has no Go form.
func exactString(value []byte) bool {
	if !utf8.Valid(value) {
		return false
	}
	if !bytes.Contains(value, []byte(`\u`)) {
		return true
	}
	lost := strings.Count(string(jsonspan.Text(value)), string(utf8.RuneError))
	written := bytes.Count(value, []byte(string(utf8.RuneError))) + bytes.Count(bytes.ToLower(value), []byte(`\ufffd`))
	return lost == written
}

// exactNumber returns the kind of column that represents a number exactly: Int (and the
// number), Uint or Double, or 0 if there is none.
func exactNumber(value []byte) (int64, Kind) {
	text := string(value)
	if strings.ContainsAny(text, ".eE") {
		if _, err := strconv.ParseFloat(text, 64); err != nil {
			return 0, 0
		}
		return 0, Double
	}
	if text == "-0" {
		return 0, 0
	}
	if x, err := strconv.ParseInt(text, 10, 64); err == nil {
		return x, Int
	}
	if _, err := strconv.ParseUint(text, 10, 64); err == nil {
		return 0, Uint
	}
	return 0, 0
}
