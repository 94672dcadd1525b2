package rewardaudit

import (
	"regexp"
	"slices"
	"strings"

	"github.com/merit-rl/merit/core/rl"
)

var option = regexp.MustCompile(`(?m)^([ \t]*\(?)([A-H])([).:][ \t]+)(\S.*)$`)

// options probes the task with its options permuted, if its prompt lists any.
func (m *maker) options(t *task) {
	rotated, moved := permute(t)
	answer := t.answer()
	if rotated == nil {
		return
	}
	now, isLetter := moved[strings.ToUpper(answer)]
	if !isLetter {
		now = answer // the text of an option
	}
	of := *t
	of.row = rotated
	reply := fill(t.form, now)
	p := m.add(&of, permuted, reply, raw(now, t.truth))
	p.task = t
	if isLetter {
		p = m.add(&of, position, fill(t.form, answer), raw(now, t.truth))
		p.task = t
	}
}

// permute returns the row with the text of each option under the next letter, and the new letter
// of each; nil if the prompt lists fewer than three options.
func permute(t *task) (*rl.Trajectory, map[string]string) {
	row := *t.row
	row.Messages = slices.Clone(t.row.Messages)
	for i := promptEnd(t.row) - 1; i >= 0; i-- {
		text := row.Messages[i].Content.Text()
		found := option.FindAllStringSubmatchIndex(text, -1)
		if len(found) < 3 {
			continue
		}
		moved, b, end := map[string]string{}, strings.Builder{}, 0
		for k, at := range found {
			from := found[(k+len(found)-1)%len(found)]
			moved[text[from[4]:from[5]]] = text[at[4]:at[5]]
			b.WriteString(text[end:at[8]] + text[from[8]:from[9]])
			end = at[9]
		}
		b.WriteString(text[end:])
		row.Messages[i].Content = rl.Text(b.String())
		return &row, moved
	}
	return nil, nil
}
