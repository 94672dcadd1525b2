package shape

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/merit-rl/merit/internal/base/strictjson"
)

// Result is a server's answer to a reset or a step: the data of an observation message,
// or the body over HTTP.
type Result struct {
	Observation any      `json:"observation"` // an object
	Reward      *float64 `json:"reward"`      // nil: no reward, as after a reset
	Done        bool     `json:"done"`
	Metadata    any      `json:"metadata,omitempty"` // an object
}

// Encode returns r as JSON.
func (r *Result) Encode() json.RawMessage { return marshal(r) }

// Answer is a Result as a client reads it.
type Answer struct {
	// Data is the whole answer, with json.Number for numbers; Lookup reads from it.
	Data   map[string]any
	Reward float64 // finite; 0 if the server sent none
	Done   bool
}

// DecodeAnswer decodes the data of an observation message.
func DecodeAnswer(data json.RawMessage) (*Answer, error) {
	if err := strictjson.CheckTo(maxDepth, data); err != nil {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	a := &Answer{}
	if err := d.Decode(&a.Data); err != nil || a.Data == nil {
		return nil, errors.New("the answer is not an object")
	}
	switch done := a.Data["done"].(type) {
	case nil:
	case bool:
		a.Done = done
	default:
		return nil, fmt.Errorf("done must be true or false, not %s", brief(done))
	}
	switch reward := a.Data["reward"].(type) {
	case nil:
	case bool: // the openenv package allows it
		if reward {
			a.Reward = 1
		}
	case json.Number:
		v, err := reward.Float64()
		if err != nil || math.IsInf(v, 0) || math.IsNaN(v) {
			return nil, fmt.Errorf("the reward %s is not finite", brief(reward))
		}
		a.Reward = v
	default:
		return nil, fmt.Errorf("the reward %s is not a number", brief(reward))
	}
	return a, nil
}

// Lookup returns the value at a path such as observation.board.0 of keys and list indexes.
func (a *Answer) Lookup(path string) (any, bool) {
	var v any = a.Data
	for _, part := range strings.Split(path, ".") {
		switch t := v.(type) {
		case map[string]any:
			inner, ok := t[part]
			if !ok {
				return nil, false
			}
			v = inner
		case []any:
			i, err := strconv.Atoi(part)
			if err != nil || i < 0 || i >= len(t) {
				return nil, false
			}
			v = t[i]
		default:
			return nil, false
		}
	}
	return v, true
}

// Text formats a value: a text unchanged, anything else as JSON with sorted
// keys.
func Text(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	return string(marshal(v))
}

// Numbers appends the numbers of v, which may be nested lists, to all; true is 1 and
// false is 0.
func Numbers(all []float32, v any, most int) ([]float32, error) {
	switch t := v.(type) {
	case bool:
		if t {
			return append(all, 1), nil
		}
		return append(all, 0), nil
	case json.Number:
		x, err := strconv.ParseFloat(string(t), 32)
		if err != nil {
			return nil, fmt.Errorf("%s is not a 32-bit number", brief(t))
		}
		return append(all, float32(x)), nil
	case []any:
		for _, item := range t {
			var err error
			if all, err = Numbers(all, item, most); err != nil {
				return nil, err
			}
			if len(all) > most {
				return nil, fmt.Errorf("there are more than %d numbers", most)
			}
		}
		return all, nil
	}
	return nil, fmt.Errorf("%s is not a number", brief(v))
}

// brief formats a value for an error.
func brief(v any) string {
	text := string(marshal(v))
	if len(text) > 60 {
		return strings.ToValidUTF8(text[:60], "") + "…"
	}
	return text
}
