package trial

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/merit-rl/merit/internal/audit/tasks"
	"github.com/merit-rl/merit/internal/base/strictjson"
	"github.com/merit-rl/merit/sdk/answer"
)

// near is how close two numbers are that one tolerance may take for the same.
const near = 1.5

// Different reports whether two answers certainly differ: neither in value, nor in the words, nor within
// a usual tolerance is one the other.
func Different(a, b string) bool {
	x, isX := tasks.Number(a)
	y, isY := tasks.Number(b)
	if isX && isY {
		return x != y
	}
	a, b = strings.ToLower(strings.TrimSpace(a)), strings.ToLower(strings.TrimSpace(b))
	if a == b || len(a) > 2 && strings.Contains(b, a) || len(b) > 2 && strings.Contains(a, b) || same(a, b) {
		return false
	}
	return !alike(a) || !alike(b) || alikes[a] != alikes[b]
}

// same reports whether two texts state the same mathematics.
func same(a, b string) bool {
	return answer.Check(a, b).Outcome == answer.Equal || answer.Check(b, a).Outcome == answer.Equal
}

// alikes are words that data sets use for two values.
var alikes = map[string]string{"yes": "yes", "true": "yes", "1": "yes", "correct": "yes", "entailment": "yes", "no": "no", "false": "no", "0": "no", "incorrect": "no"}

func alike(a string) bool { return alikes[a] != "" }

// Apart reports whether two answers differ by more than the tolerance of a reward.
func Apart(a, b string) bool {
	if !Different(a, b) {
		return false
	}
	x, isX := tasks.Number(a)
	y, isY := tasks.Number(b)
	if !isX || !isY || x*y <= 0 {
		return true
	}
	if x < 0 {
		x, y = -x, -y
	}
	return max(x, y)/min(x, y) >= near
}

// Differ reports whether a reply that is right for one of two tasks is certainly wrong for the other.
func (t *Target) Differ(i, j int) bool {
	a, b := t.Cases[i], t.Cases[j]
	switch {
	case a.truth == b.truth || a.truth == "" || b.truth == "":
		return false
	case len(a.Answers) > 0 && len(b.Answers) > 0:
		return Apart(a.Answer(), b.Answer())
	}
	return a.Prompt != b.Prompt
}

// Spread returns the largest set of tasks of a list, greedily, of which each two differ.
func (t *Target) Spread(list []int) (apart []int) {
	for _, i := range list {
		if !slices.ContainsFunc(apart, func(j int) bool { return !t.Differ(i, j) }) {
			apart = append(apart, i)
		}
	}
	return apart
}

// truthKey is the truth in a form in which equal ones are equal: without spaces, keys in order. A task
// without a known truth has its columns.
func truthKey(t *tasks.Task) string {
	raw := t.Truth
	if raw == nil {
		columns := maps.Clone(t.Row.Metadata)
		for _, name := range []string{"id", "index", "idx", "source", "data_source", "difficulty", "split"} {
			delete(columns, name)
		}
		if len(columns) == 0 {
			return ""
		}
		raw, _ = json.Marshal(columns) // of decoded JSON
	}
	var value any
	d := bytes.TrimSpace(raw)
	if strictjson.Unmarshal(d, &value) != nil {
		return string(d)
	}
	text, _ := json.Marshal(value)
	return string(text)
}
