package source

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/sandbox/internal/text"
)

// Choice is what whoever runs a script chooses: which of its functions scores,
// and with which parameters.
type Choice struct {
	Function string          // empty: the script's own choice
	With     json.RawMessage // a JSON object, keys sorted; empty: none
	Batch    string          // "group", or how many members come in one call; empty: the script's own choice
}

const (
	maxWith  = 64 << 10 // bytes
	maxDepth = 32       // of what nests in parameters
)

// ofModule refuses what cannot be chosen of a module.
func (c Choice) ofModule(path string) error {
	switch {
	case c.Function != "":
		return Refusal(path, fmt.Sprintf("a module has one reward: the function %q cannot be chosen of it", c.Function), "name the module alone", nil)
	case c.Batch != "":
		return Refusal(path, "a module says by itself whether it compares the members of a group (batch)", "leave --batch out: it is for scripts", nil)
	case len(c.With) > 0:
		return Refusal(path, "a module takes no parameters (with)", "build them in, or write the reward as a script", nil)
	}
	return nil
}

// check refuses a batch that is no number of members.
func (c Choice) check(path string) error {
	n, err := strconv.Atoi(c.Batch)
	if c.Batch == "" || c.Batch == Group || err == nil && n >= 1 && n <= reward.MaxBatch && strconv.Itoa(n) == c.Batch {
		return nil
	}
	return &fault.Error{
		Boundary: fault.Sandbox, Kind: fault.Invalid, Where: text.Escape(path), What: fmt.Sprintf("batch is %q", clip(c.Batch)),
		Hint: fmt.Sprintf("give group, or a number from 1 to %d", reward.MaxBatch),
	}
}

// Group is the batch that holds the members of a group.
const Group = "group"

// canonical checks parameters and brings equal ones to equal bytes: their keys
// are sorted.
func canonical(path string, with json.RawMessage) (json.RawMessage, error) {
	fields, err := Parameters(path, with)
	if err != nil || len(fields) == 0 {
		return nil, err
	}
	return json.Marshal(fields)
}

// Parameters reads parameters for the reward at path. Null is none.
func Parameters(path string, with []byte) (map[string]any, error) {
	if len(with) == 0 || string(with) == "null" {
		return nil, nil
	}
	v, err := strict(with)
	fields, ok := v.(map[string]any)
	if err == nil && !ok {
		err = errors.New("it is no object")
	}
	if err != nil {
		return nil, &fault.Error{
			Boundary: fault.Sandbox, Kind: fault.Invalid, Where: text.Escape(path), Err: err, What: "the parameters (with) cannot be read",
			Hint: `give one JSON object, such as {"tolerance": 0.1}`,
		}
	}
	return fields, nil
}

// strict reads one JSON value in which no key occurs twice and every number is
// finite.
func strict(data []byte) (any, error) {
	switch {
	case len(data) > maxWith:
		return nil, fmt.Errorf("it has %d bytes, and may have %d", len(data), maxWith)
	case !utf8.Valid(data):
		return nil, errors.New("it is not UTF-8")
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	v, err := value(d, 0)
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	if err == nil {
		if _, more := d.Token(); !errors.Is(more, io.EOF) {
			err = errors.New("something follows the value")
		}
	}
	return v, err
}

func value(d *json.Decoder, depth int) (any, error) {
	token, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch t := token.(type) {
	case json.Number:
		f, err := strconv.ParseFloat(t.String(), 64)
		if err != nil || math.IsInf(f, 0) {
			return nil, fmt.Errorf("%s is out of range", clip(t.String()))
		}
		return t, nil
	case json.Delim:
		if depth == maxDepth {
			return nil, fmt.Errorf("it nests deeper than %d", maxDepth)
		}
		if t == '[' {
			return list(d, depth)
		}
		return object(d, depth)
	}
	return token, nil
}

func list(d *json.Decoder, depth int) (any, error) {
	items := []any{}
	for d.More() {
		v, err := value(d, depth+1)
		if err != nil {
			return nil, err
		}
		items = append(items, v)
	}
	_, err := d.Token()
	return items, err
}

func object(d *json.Decoder, depth int) (any, error) {
	fields := map[string]any{}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, err
		}
		name, _ := key.(string) // the decoder lets nothing else be a key
		if _, twice := fields[name]; twice {
			return nil, fmt.Errorf("the key %q occurs twice", clip(name))
		}
		if fields[name], err = value(d, depth+1); err != nil {
			return nil, err
		}
	}
	_, err := d.Token()
	return fields, err
}

// clip shortens what an error repeats of its input.
func clip(s string) string {
	const most = 40
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}
