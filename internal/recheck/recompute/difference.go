package recompute

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"

	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/base/strictjson"
)

// Difference is the first place where a stored trajectory differs from the computed one.
// Values are JSON; numbers that differ in one bit differ as text.
type Difference struct {
	Trajectory string `json:"trajectory"`
	Step       *int   `json:"step,omitempty"` // nil = the episode as a whole
	Field      string `json:"field"`          // path in the trajectory, or in its step
	Stored     string `json:"stored"`
	Computed   string `json:"computed"`
}

// String returns the difference in one line.
func (d Difference) String() string {
	where := d.Trajectory
	if d.Step != nil {
		where += fmt.Sprintf(", step %d", *d.Step)
	}
	return fmt.Sprintf("%s, %s: stored %s, computed %s", where, d.Field, d.Stored, d.Computed)
}

// Values returns the first difference between two values by their JSON, or nil. Numbers for
// which near returns true are equal.
func Values(stored, computed any, near func(a, b float64) bool) (*Difference, error) {
	x, err1 := decoded(stored)
	y, err2 := decoded(computed)
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	return first("", x, alike(x, y, near)), nil
}

func decoded(v any) (out any, err error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	return out, d.Decode(&out)
}

// alike returns b with the numbers of a wherever near returns true.
func alike(a, b any, near func(a, b float64) bool) any {
	switch y := b.(type) {
	case json.Number:
		if x, ok := a.(json.Number); ok {
			p, err1 := x.Float64()
			q, err2 := y.Float64()
			if errors.Join(err1, err2) == nil && near(p, q) {
				return x
			}
		}
	case []any:
		if x, ok := a.([]any); ok {
			for i := range min(len(x), len(y)) {
				y[i] = alike(x[i], y[i], near)
			}
		}
	case map[string]any:
		if x, ok := a.(map[string]any); ok {
			for key := range y {
				y[key] = alike(x[key], y[key], near)
			}
		}
	}
	return b
}

// compare returns the first difference, in the order of field names, or nil.
func compare(stored, fresh *rl.Trajectory) (*Difference, error) {
	a, err := json.Marshal(stored)
	if err != nil {
		return nil, err
	}
	b, err := reread(fresh)
	if err != nil || bytes.Equal(a, b) {
		return nil, err
	}
	x, err1 := decoded(json.RawMessage(a))
	y, err2 := decoded(json.RawMessage(b))
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	d := first("", x, y)
	if d == nil { // the same values in another order, of metrics
		d = &Difference{Field: "order of fields", Stored: short(string(a)), Computed: short(string(b))}
	}
	d.Trajectory = stored.ID
	if m := inStep.FindStringSubmatch(d.Field); m != nil {
		step, _ := strconv.Atoi(m[1]) // the expression matches only digits
		d.Step, d.Field = &step, m[2]
	}
	return d, nil
}

var inStep = regexp.MustCompile(`^steps\[(\d+)\]\.(.+)$`)

// reread returns t as it would be after writing and reading it: invalid UTF-8 is replaced.
func reread(t *rl.Trajectory) ([]byte, error) {
	text, err := json.Marshal(t)
	if err != nil {
		return nil, err
	}
	var again rl.Trajectory
	if err := strictjson.Unmarshal(text, &again); err != nil {
		return nil, err
	}
	return json.Marshal(&again)
}

// first compares two JSON values recursively.
func first(path string, a, b any) *Difference {
	switch x := a.(type) {
	case map[string]any:
		if y, ok := b.(map[string]any); ok {
			return firstKey(path, x, y)
		}
	case []any:
		if y, ok := b.([]any); ok {
			for i := range max(len(x), len(y)) {
				at := fmt.Sprintf("%s[%d]", path, i)
				if i >= len(x) || i >= len(y) {
					return &Difference{Field: at, Stored: element(x, i), Computed: element(y, i)}
				}
				if d := first(at, x[i], y[i]); d != nil {
					return d
				}
			}
			return nil
		}
	default:
		if a == b {
			return nil
		}
	}
	return &Difference{Field: path, Stored: show(a), Computed: show(b)}
}

func firstKey(path string, x, y map[string]any) *Difference {
	keys := maps.Clone(x)
	maps.Copy(keys, y)
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		at := key
		if path != "" {
			at = path + "." + key
		}
		v, inX := x[key]
		w, inY := y[key]
		switch {
		case !inX:
			return &Difference{Field: at, Stored: absent, Computed: show(w)}
		case !inY:
			return &Difference{Field: at, Stored: show(v), Computed: absent}
		}
		if d := first(at, v, w); d != nil {
			return d
		}
	}
	return nil
}

const absent = "nothing"

func element(list []any, i int) string {
	if i >= len(list) {
		return absent
	}
	return show(list[i])
}

func show(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return short(string(text))
}

// short limits the length of a quoted value.
func short(s string) string {
	const most = 200
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}
