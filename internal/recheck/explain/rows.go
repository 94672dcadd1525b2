package explain

import (
	"bytes"

	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/base/strictjson"
	"github.com/merit-rl/merit/internal/data/jsonl"
	"github.com/merit-rl/merit/internal/data/rowio"
)

// fromRows builds a batch from a file of rows. The other fields of a row (action, observation,
// stored numbers) are read again for the chosen group: see fill.
func fromRows(s Settings, path string) (*Batch, *rowio.Table, error) {
	in, err := jsonl.Open(path, nil)
	if err != nil {
		return nil, nil, err
	}
	defer in.Close()
	table, err := rowio.ReadFile(in)
	if err != nil {
		return nil, nil, err
	}
	if err := table.Keep(s.Advantage); err != nil {
		return nil, nil, uncomputable(path, table.Explain(err))
	}
	b := &Batch{Config: s.Advantage, Rows: table.Rows, Moments: s.Moments}
	n := b.Rows.Len()
	b.actions, b.saved = make([]string, n), make([]*rl.Credit, n)
	for i, t := range b.Rows.Trajectory {
		group, name, _ := table.Place(i)
		for int(b.Rows.Group[i]) >= len(b.Groups) {
			b.Groups = append(b.Groups, group)
		}
		for int(t) >= len(b.members) {
			b.members = append(b.members, Member{Trajectory: name, Outcome: string(reward.Scored)})
		}
		b.members[t].Steps++
		if b.member(i) < 0 {
			b.members[t].Outcome, b.members[t].Reason = string(reward.Invalid), "the file has no score for this trajectory"
		}
	}
	return b, table, b.estimate(path)
}

// extra holds the fields of a row that explanations read besides the columns of estimators.
type extra struct {
	Action    any      `json:"action"`
	Return    *float64 `json:"return"`
	Episode   *float64 `json:"episode_advantage"`
	Step      *float64 `json:"step_advantage"`
	Advantage *float64 `json:"advantage"`
	Anchor    int      `json:"anchor_group"`
}

// fill reads the extra fields of the rows in the group of row.
func (b *Batch) fill(table *rowio.Table, path string, row int) error {
	lines := map[int]int{}
	for i := range b.Rows.Group {
		if b.Rows.Group[i] == b.Rows.Group[row] {
			if _, _, line := table.Place(i); line > 0 {
				lines[line] = i
			}
		}
	}
	in, err := jsonl.Open(path, nil)
	if err != nil {
		return err
	}
	defer in.Close()
	in.Plain("step", "return", "episode_advantage", "step_advantage", "advantage", "anchor_group")
	data, err := in.All(rowio.MaxBytes)
	if err != nil {
		return err
	}
	for number := 1; len(data) > 0 && len(lines) > 0; number++ {
		var line []byte
		line, data, _ = bytes.Cut(data, []byte{'\n'})
		i, ok := lines[number]
		if !ok {
			continue
		}
		delete(lines, number)
		var x extra
		if strictjson.Unmarshal(line, &x) != nil {
			continue // the user's own fields of the same name
		}
		if action, ok := x.Action.(string); ok {
			b.actions[i] = action
		}
		if x.Advantage != nil && x.Return != nil && x.Episode != nil && x.Step != nil {
			b.saved[i] = &rl.Credit{
				BaseReward: b.Rows.Reward[i], Return: *x.Return, EpisodeAdvantage: *x.Episode, StepAdvantage: *x.Step, Advantage: *x.Advantage, AnchorGroup: x.Anchor,
			}
		}
	}
	for i := range b.actions {
		if b.actions[i] == "" {
			b.actions[i] = b.actions[b.owner(i)]
		}
	}
	return nil
}

// findRow explains a step of a file of rows.
func findRow(path string, s Settings, c Choice) (*Explanation, error) {
	b, table, err := fromRows(s, path)
	if err != nil {
		return nil, err
	}
	row, err := b.choose(path, c)
	if err != nil {
		return nil, err
	}
	if err := b.fill(table, path, row); err != nil {
		return nil, err
	}
	return b.Explain(row), nil
}

// choose returns the row that c selects.
func (b *Batch) choose(path string, c Choice) (int, error) {
	row := b.largest(func(i int) bool {
		id := b.members[b.Rows.Trajectory[i]].Trajectory
		return c.fits(b.Groups[b.Rows.Group[i]], id) && (c.Step < 0 || int(b.Rows.Step[i]) == c.Step)
	})
	if row < 0 {
		return 0, c.nothing(path)
	}
	return row, nil
}
