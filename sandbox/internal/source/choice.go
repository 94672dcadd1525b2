package source

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/sandbox/internal/text"
)

// Choice is what the caller chooses for a script: the function that scores and
// its parameters.
type Choice struct {
	Function string          // empty: the script's own choice
	With     json.RawMessage // a JSON object, keys sorted; empty: none
	Batch    string          // "group", or how many members come in one call; empty: the script's own choice
}

const (
	maxWith  = 64 << 10 // bytes
	maxDepth = 32       // nesting of parameters
)

// ofModule rejects choices that a module does not offer.
func (c Choice) ofModule(path string) error {
	switch {
	case c.Function != "":
		return Refusal(path, fmt.Sprintf("a module has only one reward, so the function %q cannot be chosen", c.Function), "name only the module", nil)
	case c.Batch != "":
		return Refusal(path, "batch was set, but a module itself determines whether it compares the members of a group", "remove --batch: it is only for scripts", nil)
	case len(c.With) > 0:
		return Refusal(path, "a module takes no parameters (with), but it was given "+c.names(), "build them in, use columns that the reward reads, or write the reward as a script", nil)
	}
	return nil
}

// names lists the parameters.
func (c Choice) names() string {
	fields, _ := Parameters("", c.With) // canonical has read them
	return strings.Join(slices.Sorted(maps.Keys(fields)), ", ")
}

// check rejects a batch that is not a number of members.
func (c Choice) check(path string) error {
	n, err := strconv.Atoi(c.Batch)
	if c.Batch == "" || c.Batch == Group || err == nil && n >= 1 && n <= reward.MaxBatch && strconv.Itoa(n) == c.Batch {
		return nil
	}
	return &fault.Error{
		Boundary: fault.Sandbox, Kind: fault.Invalid, Where: text.Escape(path), What: fmt.Sprintf("batch is %q", clip(c.Batch)),
		Hint: fmt.Sprintf("set it to group, or to a number from 1 to %d", reward.MaxBatch),
	}
}

// Group is the batch that contains the members of a group.
const Group = "group"

// canonical checks parameters and sorts their keys, so that equal parameters
// have equal bytes.
func canonical(path string, with json.RawMessage) (json.RawMessage, error) {
	fields, err := Parameters(path, with)
	if err != nil || len(fields) == 0 {
		return nil, err
	}
	return json.Marshal(fields)
}

// Parameters parses the parameters of the reward at path. Null means none.
func Parameters(path string, with []byte) (map[string]any, error) {
	if len(with) == 0 || string(with) == "null" {
		return nil, nil
	}
	v, err := strict(with)
	fields, ok := v.(map[string]any)
	if err == nil && !ok {
		err = errors.New("it is not an object")
	}
	if err != nil {
		return nil, &fault.Error{
			Boundary: fault.Sandbox, Kind: fault.Invalid, Where: text.Escape(path), Err: err, What: "the parameters (with) cannot be read",
			Hint: `write one JSON object, such as {"tolerance": 0.1}`,
		}
	}
	return fields, nil
}

// strict decodes one JSON value without repeated keys, whose numbers are all
// finite.
func strict(data []byte) (any, error) {
	switch {
	case len(data) > maxWith:
		return nil, fmt.Errorf("it has %d bytes, more than the limit of %d", len(data), maxWith)
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
		name, _ := key.(string) // the decoder accepts only strings as keys
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

// clip shortens input that an error quotes.
func clip(s string) string {
	const most = 40
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}
