package rewardaudit

import (
	"regexp"
	"slices"
	"strings"

	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/audit/tasks"
)

var option = regexp.MustCompile(`(?m)^([ \t]*\(?)([A-H])([).:][ \t]+)(\S.*)$`)

// options probes the task with its options permuted, if its prompt lists any.
func (m *maker) options(t *task) {
	rotated, moved := permute(t)
	answer := t.Answer()
	if rotated == nil {
		return
	}
	now, isLetter := moved[strings.ToUpper(answer)]
	if !isLetter {
		now = answer // the text of an option
	}
	turned := *t.Task
	turned.Row = rotated
	of := &task{Task: &turned, oracle: t.oracle, best: t.best, form: t.form}
	reply := tasks.Fill(t.form, now)
	p := m.add(of, permuted, reply, tasks.Raw(now, t.Truth))
	p.task = t
	if isLetter {
		p = m.add(of, position, tasks.Fill(t.form, answer), tasks.Raw(now, t.Truth))
		p.task = t
	}
}

// permute returns the row with the text of each option under the next letter, and the new letter
// of each; nil if the prompt lists fewer than three options.
func permute(t *task) (*rl.Trajectory, map[string]string) {
	row := *t.Row
	row.Messages = slices.Clone(t.Row.Messages)
	for i := tasks.PromptEnd(t.Row) - 1; i >= 0; i-- {
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
