package main

import (
	"errors"
	"strconv"
	"strings"
	"unicode/utf16"

	"github.com/merit-rl/merit/sdk/reward"
)

// marksOf reads the column after: a text or a list of texts. Without it there are no marks:
// package answer itself reads what follows </think> and ####.
func marksOf(v reward.Value) ([]string, error) {
	switch v.Kind {
	case reward.Absent:
		return nil, nil
	case reward.String:
		return []string{v.Text}, nil
	case reward.JSON:
		if marks, ok := texts(v.JSON, false); ok {
			return marks, nil
		}
	}
	return nil, errors.New("after is " + cut(v.JSON) + "; it must be a text or a list of texts")
}

// goldsOf reads a ground truth: a text, a number, or a list of these, each of which is right.
func goldsOf(v reward.Value) ([]string, error) {
	switch v.Kind {
	case reward.Absent, reward.Null:
		return nil, errors.New("there is no ground truth")
	case reward.String, reward.Number:
		return []string{v.Text}, nil
	case reward.JSON:
		if golds, ok := texts(v.JSON, true); ok && len(golds) > 0 {
			return golds, nil
		}
		if strings.Trim(v.JSON, "-+.eE0123456789") == "" { // a number too large for a float64
			return []string{v.JSON}, nil
		}
	}
	return nil, errors.New("the ground truth is " + cut(v.JSON) + "; it must be a text, a number, or a list of these")
}

// texts reads a JSON list of texts, and of numbers if they may occur. The host has
// checked the syntax. This is smaller than encoding/json by a third of the module.
func texts(list string, numbers bool) (all []string, ok bool) {
	list = strings.TrimSpace(list)
	if !strings.HasPrefix(list, "[") {
		return nil, false
	}
	for list = space(list[1:]); list != "]"; list = space(strings.TrimPrefix(space(list), ",")) {
		end := strings.IndexAny(list, ",]")
		switch {
		case list[0] == '"':
			text, length := quoted(list)
			all, end = append(all, text), length
		case numbers && strings.IndexByte("-0123456789", list[0]) >= 0:
			all = append(all, strings.TrimRight(list[:end], " \t\r\n"))
		default:
			return nil, false
		}
		list = list[end:]
	}
	return all, true
}

func space(text string) string { return strings.TrimLeft(text, " \t\r\n") }

// escapes are JSON's short escapes, each followed by its meaning.
const escapes = "\"\"\\\\//b\bf\fn\nr\rt\t"

// quoted returns the JSON string at the beginning of text, and its length in text.
func quoted(text string) (string, int) {
	var b strings.Builder
	for i := 1; ; i++ {
		switch {
		case text[i] == '"':
			return b.String(), i + 1
		case text[i] != '\\':
			b.WriteByte(text[i])
		case text[i+1] == 'u':
			r := unit(text[i:])
			i += 5
			if utf16.IsSurrogate(r) && strings.HasPrefix(text[i+1:], `\u`) {
				r = utf16.DecodeRune(r, unit(text[i+1:]))
				i += 6
			}
			b.WriteRune(r)
		default:
			at := strings.IndexByte(escapes, text[i+1])
			b.WriteByte(escapes[at/2*2+1])
			i++
		}
	}
}

// unit is the number of the escape \uXXXX at the beginning of text.
func unit(text string) rune {
	n, err := strconv.ParseUint(text[2:6], 16, 16)
	if err != nil {
		return '�'
	}
	return rune(n)
}
