package action

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
)

// Bounds of a value of JSON in an answer.
const (
	maxJSON   = 1 << 16 // bytes
	maxDepth  = 64      // nesting of lists and objects
	maxNumber = 64      // bytes of a number
)

// decoded is the value of JSON that a text begins with.
type decoded struct {
	value any    // as encoding/json has it, with json.Number
	text  string // what was read of it
	began bool   // it is JSON, valid or broken, and not punctuation
	depth int    // brackets that are open at the error
	err   error
}

// decode reads the value of JSON that text begins with, of at most limit bytes.
// Duplicate names, nesting that is too deep and numbers beyond float64 are errors.
func decode(text string, limit int) decoded {
	window := text[:min(len(text), limit)]
	d := decoder{Decoder: json.NewDecoder(strings.NewReader(window))}
	d.UseNumber()
	value, err := d.value()
	began := d.leaves > 0 || err == errDeep || err == io.EOF && d.depth > 0
	switch {
	case err == io.EOF && len(window) < len(text):
		err = fmt.Errorf("it is longer than %d bytes", limit)
	case err == io.EOF:
		err = errors.New("it is incomplete")
	}
	return decoded{value: value, text: window[:d.InputOffset()], began: began, depth: d.depth, err: err}
}

var errDeep = fmt.Errorf("it is nested more than %d levels deep", maxDepth)

type decoder struct {
	*json.Decoder
	leaves int // keys and values, without lists and objects
	depth  int // brackets that are open
}

func (d *decoder) value() (any, error) {
	token, err := d.token()
	if err != nil {
		return nil, err
	}
	switch t := token.(type) {
	case json.Delim:
		if d.depth > maxDepth {
			return nil, errDeep
		}
		if t == '[' {
			return d.list()
		}
		return d.object()
	case json.Number:
		return t, finite(string(t))
	}
	return token, nil
}

func (d *decoder) list() (any, error) {
	all := []any{}
	for d.More() {
		v, err := d.value()
		if err != nil {
			return nil, err
		}
		all = append(all, v)
	}
	_, err := d.token()
	return all, err
}

func (d *decoder) object() (any, error) {
	all := map[string]any{}
	for d.More() {
		token, err := d.token()
		if err != nil {
			return nil, err
		}
		key, ok := token.(string)
		if !ok { // the decoder takes no other key
			return nil, errors.New("a key is not a string")
		}
		if _, twice := all[key]; twice {
			return nil, fmt.Errorf("the key %s occurs twice", quote(key))
		}
		if all[key], err = d.value(); err != nil {
			return nil, err
		}
	}
	_, err := d.token()
	return all, err
}

func (d *decoder) token() (json.Token, error) {
	t, err := d.Token()
	switch bracket, is := t.(json.Delim); {
	case err != nil:
	case !is:
		d.leaves++
	case bracket == '[' || bracket == '{':
		d.depth++
	default:
		d.depth--
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = io.EOF
	}
	return t, err
}

// finite rejects numbers that a float64 cannot hold. A schema computes with exact
// fractions, so 1e-999999 would be expensive.
func finite(number string) error {
	x, err := strconv.ParseFloat(number, 64)
	mantissa, _, _ := strings.Cut(strings.ToLower(number), "e")
	if err != nil || math.IsInf(x, 0) || len(number) > maxNumber || x == 0 && strings.ContainsAny(mantissa, "123456789") {
		return fmt.Errorf("the number %s is too large, too small or too long", clip(number, maxQuote))
	}
	return nil
}
