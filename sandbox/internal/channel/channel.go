// Package channel is the protocol between a reward and its host about programs:
// interpreter instances that the reward opens to run code that it does not trust. A
// message is a line and a text; the host answers each at once.
//
//	open LANGUAGE          a program that has run nothing     → opened HANDLE 0
//	ask HANDLE FUEL\nTEXT  one exchange with it               → answered FUEL LENGTH\nTEXT
//	                       or, if the program was stopped,    → out_of_fuel, out_of_memory or crashed, likewise
//	mark HANDLE            keeps the state of the program     → marked 0 0
//	rewind HANDLE          returns it to its mark             → rewound 0 0
//	each HANDLE FUEL ALL\nTEXT  for each line of TEXT, a request: returns it to its mark, then one
//	                       exchange, with FUEL or what is left of ALL   → answered COUNT LENGTH\n
//	                       and COUNT answers as those to ask. The last may be that of a stop, or of
//	                       any request that makes the answers long: those behind it were not asked
//	close HANDLE                                              → closed 0 0
//
//	model\nTEXT            a question to the language model that a configuration
//	                       grants; no text says that there will be questions
//	                       → a word of replykind.All, 0 and LENGTH\nTEXT
//
// A program that was stopped is gone, unless it has a mark: then it can be rewound or
// closed. FUEL is the budget of an exchange, and in the answer the fuel used. The answer to
// an invalid message is refused 0 LENGTH\nTEXT. Every line ends with a line feed,
// every number is decimal, and LENGTH counts the bytes of the text.
package channel

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// The messages of a reward.
const (
	Open     = "open"
	Ask      = "ask"
	Mark     = "mark"
	Rewind   = "rewind"
	Each     = "each"
	Close    = "close"
	Question = "model"
)

// The answers of the host.
const (
	Opened      = "opened"
	Answered    = "answered"
	OutOfFuel   = "out_of_fuel"
	OutOfMemory = "out_of_memory"
	Crashed     = "crashed"
	Marked      = "marked"
	Rewound     = "rewound"
	Closed      = "closed"
	Refused     = "refused"
)

// MaxLine limits the first line of a message, in bytes.
const MaxLine = 64

// Message is a message from a reward.
type Message struct {
	Do       string
	Language string
	Handle   uint32
	Fuel     uint64
	All      uint64 // fuel for all exchanges of Each
	Text     []byte // UTF-8; shares the memory of what was parsed
}

var errText = errors.New("the text of a message is not UTF-8")

// Parse parses a message. Its error is shown to the reward's author.
func Parse(data []byte) (m Message, err error) {
	line, rest, ended := bytes.Cut(data, []byte{'\n'})
	if !ended || len(line) >= MaxLine {
		return m, fmt.Errorf("a message begins with a line of less than %d bytes", MaxLine)
	}
	words := strings.Split(string(line), " ")
	m = Message{Do: words[0], Text: rest}
	wrong := false
	number := func(n, bits int) uint64 {
		v, err := strconv.ParseUint(words[n], 10, bits)
		wrong = wrong || err != nil
		return v
	}
	switch {
	case m.Do == Open && len(words) == 2 && len(rest) == 0:
		m.Language = words[1]
	case m.Do == Ask && len(words) == 3:
		m.Handle, m.Fuel = uint32(number(1, 32)), number(2, 64)
		if !utf8.Valid(rest) {
			return m, errText
		}
	case m.Do == Each && len(words) == 4:
		m.Handle, m.Fuel, m.All = uint32(number(1, 32)), number(2, 64), number(3, 64)
		if !utf8.Valid(rest) {
			return m, errText
		}
	case m.Do == Question && len(words) == 1:
	case (m.Do == Close || m.Do == Mark || m.Do == Rewind) && len(words) == 2 && len(rest) == 0:
		m.Handle = uint32(number(1, 32))
	default:
		wrong = true
	}
	if wrong {
		return m, fmt.Errorf("cannot read the message %q: a reward sends open LANGUAGE, ask HANDLE FUEL or each HANDLE FUEL ALL with a text, mark HANDLE, rewind HANDLE or close HANDLE; "+
			"merit_reward.code and merit/code send them", line)
	}
	return m, nil
}

// Append appends an answer: the kind, the number that belongs to it, and a
// text.
func Append(b []byte, what string, number uint64, text []byte) []byte {
	return append(fmt.Appendf(b, "%s %d %d\n", what, number, len(text)), text...)
}
