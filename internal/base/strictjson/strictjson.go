// Package strictjson decodes JSON that comes from outside Merit. It is strict
// where encoding/json guesses: names must match exactly (not in another case,
// nor with similar letters), a duplicate name in an object is an error, text
// must be UTF-8 and nesting is limited.
package strictjson

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"
)

// MaxDepth is how deep values may be nested.
const MaxDepth = 1000

// lenient are the two habits of encoding/json that data relies on: half of a
// surrogate pair in an escape, which Python writes, becomes U+FFFD, and
// durations are whole nanoseconds.
var lenient = json.JoinOptions(jsontext.AllowInvalidUTF8(true), jsonv1.FormatDurationAsNano(true))

var known = json.JoinOptions(lenient, json.RejectUnknownMembers(true))

// Unmarshal decodes one JSON value that fills text. It skips members that the
// type of to does not have, but their values must be valid. The error is an
// *Error.
func Unmarshal(text []byte, to any) error { return unmarshal(text, to, lenient) }

// UnmarshalKnown is Unmarshal, but members that the type of to does not have
// are errors.
func UnmarshalKnown(text []byte, to any) error { return unmarshal(text, to, known) }

func unmarshal(text []byte, to any, options json.Options) error {
	if err := shallow(text, MaxDepth); err != nil {
		return err
	}
	return explained(json.Unmarshal(text, to, options))
}

// Check returns an error unless text is one JSON value that Unmarshal accepts.
func Check(text []byte) error { return CheckTo(MaxDepth, text) }

// CheckTo is Check for values that may be nested at most depth deep.
func CheckTo(depth int, text []byte) error {
	if err := shallow(text, depth); err != nil {
		return err
	}
	d := jsontext.NewDecoder(bytes.NewReader(text), lenient)
	if err := d.SkipValue(); err != nil {
		return explained(err)
	}
	if _, err := d.ReadToken(); !errors.Is(err, io.EOF) {
		return &Error{What: "something follows the value", Offset: d.InputOffset()}
	}
	return nil
}

// shallow rejects text that is not UTF-8 or is nested too deeply: the decoder's
// own limit is higher than what Merit's guests can process.
func shallow(text []byte, most int) error {
	if !utf8.Valid(text) {
		return &Error{What: "the text is not UTF-8"}
	}
	depth := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			if i = closing(text, i+1); i < 0 {
				return nil // the decoder reports the problem
			}
		case '{', '[':
			if depth++; depth > most {
				return &Error{What: fmt.Sprintf("values are nested more than %d deep", most), Offset: int64(i)}
			}
		case '}', ']':
			depth--
		}
	}
	return nil
}

// closing returns the position of the closing quote of the string whose content
// begins at i, or -1.
func closing(text []byte, i int) int {
	for from := i; ; i++ {
		n := bytes.IndexByte(text[i:], '"')
		if n < 0 {
			return -1
		}
		escapes := 0
		for i += n; i-1-escapes >= from && text[i-1-escapes] == '\\'; {
			escapes++
		}
		if escapes%2 == 0 {
			return i
		}
	}
}

// Error describes a problem in JSON and its place.
type Error struct {
	Path   string // of the value, such as messages[1].content; empty for the whole
	What   string
	Kind   string       // the JSON type of a value whose type is wrong, else empty
	Twice  bool         // a name occurs twice in an object
	Offset int64        // in bytes
	Type   reflect.Type // the Go type that a value with a Kind does not fit
	Err    error
}

// Error returns the message, with the path of the value.
func (e *Error) Error() string { return strings.TrimSpace(e.Path + " " + e.What) }

// Unwrap returns the error of a type's own method, if there is one.
func (e *Error) Unwrap() error { return e.Err }

// explained converts an error of the decoder to an *Error.
func explained(err error) error {
	var syntax *jsontext.SyntacticError
	var meaning *json.SemanticError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &syntax):
		return ofSyntax(syntax)
	case errors.As(err, &meaning):
		return ofMeaning(meaning)
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return &Error{What: "unexpected end of JSON input", Err: io.ErrUnexpectedEOF}
	}
	return &Error{What: err.Error(), Err: err}
}

func ofSyntax(e *jsontext.SyntacticError) error {
	if errors.Is(e.Err, jsontext.ErrDuplicateName) {
		return &Error{Path: path(e.JSONPointer), What: "is given twice", Twice: true, Offset: e.ByteOffset}
	}
	what := strings.TrimPrefix(e.Err.Error(), "jsontext: ")
	if errors.Is(e.Err, io.ErrUnexpectedEOF) {
		what = "unexpected end of JSON input"
	}
	return &Error{What: what, Offset: e.ByteOffset, Err: e.Err}
}

func ofMeaning(e *json.SemanticError) error {
	out := &Error{Path: path(e.JSONPointer), Offset: e.ByteOffset, Err: e.Err}
	var inner *Error
	switch {
	case errors.As(e.Err, &inner):
		out.Path, out.What, out.Kind, out.Type, out.Twice = joined(out.Path, inner.Path), inner.What, inner.Kind, inner.Type, inner.Twice
	case errors.Is(e.Err, json.ErrUnknownName):
		out.What = "is not a field"
	case e.Err != nil && !errors.Is(e.Err, strconv.ErrRange) && !errors.Is(e.Err, strconv.ErrSyntax):
		out.What = strings.TrimPrefix(e.Err.Error(), "json: ")
	default:
		out.Kind, out.Type = kind(e), e.GoType
		out.What = "must not be " + out.Kind
	}
	return out
}

// kind returns the name of the JSON type of the value that did not fit. It
// includes the value if that is a number that the type cannot hold.
func kind(e *json.SemanticError) string {
	if e.JSONKind == '0' && len(e.JSONValue) > 0 {
		return "the number " + string(e.JSONValue)
	}
	return kindOf(byte(e.JSONKind))
}

// Kind returns the name of the JSON type of a value without leading space, or
// "nothing" if there is no value.
func Kind(value []byte) string {
	if len(value) == 0 {
		return "nothing"
	}
	return kindOf(value[0])
}

// kindOf returns the name of the type of the values that begin with this byte.
func kindOf(begin byte) string {
	switch begin {
	case '{':
		return "an object"
	case '[':
		return "an array"
	case '"':
		return "a string"
	case 't', 'f':
		return "a boolean"
	case 'n', 0:
		return "null"
	}
	return "a number"
}

// path converts a JSON pointer to a readable path.
func path(p jsontext.Pointer) string {
	var out strings.Builder
	for token := range p.Tokens() {
		if _, err := strconv.Atoi(token); err == nil {
			fmt.Fprintf(&out, "[%s]", token)
			continue
		}
		if out.Len() > 0 {
			out.WriteByte('.')
		}
		out.WriteString(token)
	}
	return out.String()
}

// At returns err with the name of the member that contains the value put before
// its path.
func At(name string, err error) error {
	var inner *Error
	if err == nil {
		return nil
	} else if !errors.As(err, &inner) {
		return &Error{Path: name, What: err.Error(), Err: err}
	}
	out := *inner
	out.Path = joined(name, inner.Path)
	return &out
}

func joined(outer, inner string) string {
	if outer == "" || inner == "" || inner[0] == '[' {
		return outer + inner
	}
	return outer + "." + inner
}

// Short returns a JSON value without spaces between its parts and with the shortest
// escapes, or text unchanged if it is not JSON.
func Short(text string) string {
	value := jsontext.Value(text)
	if len(value) == 0 || value.Format(lenientText) != nil {
		return text
	}
	return string(value)
}

// Canonical returns one form of all equal JSON values (RFC 8785), or text unchanged if it
// is not JSON. Numbers become float64.
func Canonical(text string) string {
	value := jsontext.Value(text)
	if len(value) == 0 || value.Canonicalize(lenientText) != nil {
		return text
	}
	return string(value)
}

// lenientText accepts what Unmarshal accepts.
var lenientText = json.JoinOptions(jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
