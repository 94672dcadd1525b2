package rl

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"strings"
)

// unmarshal is json.Unmarshal, in half of the time: the long contents of
// messages, of which conversations consist, are set aside first. What is not
// as usual, and every error, encoding/json sees as it came.
func (t *Trajectory) unmarshal(text []byte) error {
	a := aside{text: text}
	if a.walk() && len(a.contents) > 0 {
		var short Trajectory
		if err := json.Unmarshal(append(a.short, text[a.copied:]...), &short); err == nil {
			for _, c := range a.contents {
				short.Messages[c.message].Content = Text(c.text)
			}
			*t = short
			return nil
		}
	}
	return json.Unmarshal(text, t)
}

// aside goes once through the text of a trajectory.
type aside struct {
	text     []byte
	short    []byte // the text up to copied, with empty strings in place of contents
	copied   int
	contents []setAside
}

// setAside is the content of a message, by the message's index.
type setAside struct {
	message int
	text    string
}

const (
	worthAside  = 64 // bytes
	inObject    = 1  // depth of the keys of a trajectory
	inMessages  = 2
	inMessage   = 3
	keyMessages = `"messages"`
	keyContent  = `"content"`
)

// walk follows brackets and keys to the contents; all that lies between them
// it leaves to encoding/json. It is false where a key occurs twice, or is not
// written as it should be: then it depends on encoding/json which one counts.
func (a *aside) walk() bool {
	var depth, message int
	var here, seen, said bool // inside of messages; there were messages; this one has had a content
	var last []byte           // the string before
	for i := 0; i < len(a.text); {
		switch c := a.text[i]; c {
		case '{', '[':
			depth++
			if here && depth == inMessage {
				said = false
			}
			i++
		case '}', ']':
			if depth--; depth == inObject {
				here = false
			}
			i++
		case ',':
			if here && depth == inMessages {
				message++
			}
			i++
		case ':':
			i++
			switch {
			case (depth == inObject || here && depth == inMessage) && bytes.IndexByte(last, '\\') >= 0:
				return false
			case depth == inObject && bytes.EqualFold(last, []byte(keyMessages)):
				if seen || string(last) != keyMessages {
					return false
				}
				here, seen = true, true
			case depth == inObject:
				here = false
			case here && depth == inMessage && bytes.EqualFold(last, []byte(keyContent)):
				if said || string(last) != keyContent {
					return false
				}
				said = true
				for i < len(a.text) && a.text[i] == ' ' {
					i++
				}
				end := stringEnd(a.text, i)
				if end > i+worthAside {
					a.take(i, end, message)
					i = end
				}
			}
		case '"':
			end := stringEnd(a.text, i)
			if end < 0 {
				return false
			}
			last, i = a.text[i:end], end
		default:
			i++
		}
	}
	return depth == 0
}

// take sets the string at [from, end) aside, if it is one that stands for
// itself but for short escapes.
func (a *aside) take(from, end, message int) {
	said := a.text[from:end]
	if controls(said) {
		return
	}
	text, ok := unquoted(said)
	if !ok {
		return
	}
	a.short = append(append(a.short, a.text[a.copied:from]...), '"', '"')
	a.copied = end
	a.contents = append(a.contents, setAside{message, text})
}

// stringEnd returns the position behind the string that begins at i, or -1 if
// none does or it has no end.
func stringEnd(text []byte, i int) int {
	if i >= len(text) || text[i] != '"' {
		return -1
	}
	for i++; ; i++ {
		n := bytes.IndexByte(text[i:], '"')
		if n < 0 {
			return -1
		}
		escapes := 0
		for i += n; text[i-1-escapes] == '\\'; {
			escapes++
		}
		if escapes%2 == 0 {
			return i + 1
		}
	}
}

// controls reports whether text has bytes that a JSON string must not have.
func controls(text []byte) bool {
	const ones, high = 0x0101010101010101, 0x8080808080808080
	for ; len(text) >= 8; text = text[8:] {
		if x := binary.LittleEndian.Uint64(text); (x-' '*ones)&^x&high != 0 {
			return true
		}
	}
	return strings.ContainsFunc(string(text), func(r rune) bool { return r < ' ' })
}
