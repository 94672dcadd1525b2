package rowio

import (
	"math"
	"slices"
	"strings"

	"github.com/merit-rl/merit/internal/base/jsonspan"
)

// judged is what one of several rewards said of a trajectory, in one of its rows.
type judged struct {
	name          string
	score, weight float64 // the weight is NaN if the row does not say it
	missing       bool    // it has no score
}

// judge parses the rewards of a row: an object with a number for each name, null for a
// reward without a score, or an object with the score and the weight.
func (r *row) judge(raw []byte) {
	if raw[0] != '{' {
		r.fail("rewards is not an object")
		return
	}
	for _, m := range jsonspan.Members(nil, raw) {
		name := string(jsonspan.Text(raw[m.KeyStart:m.KeyEnd]))
		if slices.ContainsFunc(r.rewards, func(x judged) bool { return x.name == name }) {
			r.fail("rewards.%s is given twice", name)
			continue
		}
		r.rewards = append(r.rewards, r.judgedBy(name, raw[m.ValueStart:m.End]))
	}
	if len(r.rewards) == 0 {
		r.fail("rewards is empty")
	}
	slices.SortFunc(r.rewards, func(a, b judged) int { return strings.Compare(a.name, b.name) })
}

func (r *row) judgedBy(name string, raw []byte) judged {
	x := judged{name: name, weight: 1}
	where := []byte("rewards." + name)
	if raw[0] != '{' {
		if x.missing = string(raw) == "null"; x.missing {
			x.weight = math.NaN() // other rows know it
		} else {
			x.score = r.number(where, raw)
		}
		return x
	}
	scored := false
	for _, m := range jsonspan.Members(nil, raw) {
		value := raw[m.ValueStart:m.End]
		switch key := string(jsonspan.Text(raw[m.KeyStart:m.KeyEnd])); key {
		case "score":
			scored = true
			if x.missing = string(value) == "null"; !x.missing {
				x.score = r.number([]byte("rewards."+name+".score"), value)
			}
		case "weight":
			x.weight = r.number([]byte("rewards."+name+".weight"), value)
		default:
			r.fail("rewards.%s has the unknown key %q; it may have score and weight", name, key)
		}
	}
	if !scored {
		r.fail("rewards.%s has no score", name)
	}
	return x
}

// settleRewards leaves a trajectory unscored that one of its rewards did not score.
func (r *row) settleRewards() {
	for _, x := range r.rewards {
		if !x.missing {
			continue
		}
		if r.has&fieldScored != 0 && r.null&fieldScored == 0 && r.scored {
			r.fail("rewards.%s is null although scored is true", x.name)
		}
		r.scored = false
	}
}

// column is one of several rewards.
type column struct {
	weight float64
	line   int       // that gave the weight
	score  []float64 // by row, as far as it was given
}

// repeat gives the last of n rows the score of row i.
func (c *column) repeat(i, n int) {
	x := math.NaN()
	if i < len(c.score) {
		x = c.score[i]
	}
	for len(c.score) < n {
		c.score = append(c.score, math.NaN())
	}
	c.score[n-1] = x
}

// addRewards adds the rewards of the parsed row, the last of the table.
func (rd *reader) addRewards(number int, where string) {
	n := rd.table.Rows.Len()
	for _, x := range rd.row.rewards {
		c := rd.rewards[x.name]
		if c == nil {
			c = &column{weight: x.weight, line: number}
			rd.rewards[x.name] = c
		}
		switch {
		case math.IsNaN(x.weight):
		case math.IsNaN(c.weight):
			c.weight, c.line = x.weight, number
		case c.weight != x.weight:
			rd.problems.add(number, "%s: rewards.%s has weight %v here but %v in line %d", where, x.name, x.weight, c.weight, c.line)
		}
		for len(c.score) < n {
			c.score = append(c.score, math.NaN())
		}
		if !x.missing {
			c.score[n-1] = x.score
		}
	}
}

// finishRewards makes columns of the rewards, in the order of their names.
func (rd *reader) finishRewards() {
	names := make([]string, 0, len(rd.rewards))
	for name := range rd.rewards {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		c := rd.rewards[name]
		if math.IsNaN(c.weight) {
			c.weight = 1 // all rows have null
		}
		copy(rd.table.Rows.AddReward(name, c.weight), c.score)
	}
}
