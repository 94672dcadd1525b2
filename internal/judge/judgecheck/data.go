package judgecheck

import (
	"cmp"
	"context"
	"fmt"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/base/strictjson"
	"github.com/merit-rl/merit/internal/data/jsonl"
	"github.com/merit-rl/merit/internal/judge/agreement"
)

// data collects labeled groups in order of first appearance.
type data struct {
	options Options
	groups  []agreement.Labeled
	index   map[string]int
	bad     jsonl.Bad
}

func (d *data) add(t *rl.Trajectory) error {
	id := cmp.Or(t.Group, t.Task)
	if id == "" {
		return wrong(`neither "group" nor "task" is set`, "give trajectories that should be compared the same group")
	}
	label := 0.0
	if d.options.Truth == nil {
		var err error
		if label, err = d.label(t); err != nil {
			return err
		}
	}
	at, known := d.index[id]
	if !known {
		at = len(d.groups)
		d.index[id] = at
		d.groups = append(d.groups, agreement.Labeled{Group: rl.Group{ID: id, Task: rl.Task{ID: cmp.Or(t.Task, id)}}})
	}
	g := &d.groups[at]
	g.Trajectories, g.Label = append(g.Trajectories, t), append(g.Label, label)
	return nil
}

// label returns the number in the label column.
func (d *data) label(t *rl.Trajectory) (float64, error) {
	name := d.options.Label
	text := t.Metadata[name]
	if name == "ground_truth" {
		text = t.GroundTruth
	}
	const hint = "give each line a number, higher for better, and name its column"
	if text == nil {
		return 0, wrong(fmt.Sprintf("no label in column %q", name), hint)
	}
	var label *float64
	if strictjson.Unmarshal(text, &label) != nil || label == nil {
		return 0, wrong(fmt.Sprintf("the label in %q is not a number", name), hint)
	}
	return *label, nil
}

func wrong(what, hint string) error {
	return &fault.Error{Boundary: fault.Data, Kind: fault.Invalid, What: what, Hint: hint}
}

// score sets the labels to the scores of Truth, if it is set.
func (d *data) score(ctx context.Context) error {
	if d.options.Truth == nil {
		return nil
	}
	var groups []*rl.Group
	var ids []string
	for i := range d.groups {
		groups = append(groups, &d.groups[i].Group)
		for _, t := range d.groups[i].Trajectories {
			ids = append(ids, t.ID)
		}
	}
	all, err := reward.NewPool(d.options.Truth.Parts, 0).Evaluate(ctx, groups, nil)
	if err != nil {
		return err
	}
	if err := reward.CheckUnscored(all, func(i int) string { return ids[i] }, 0); err != nil {
		return err
	}
	for i := range d.groups {
		for k := range d.groups[i].Label {
			d.groups[i].Label[k] = all[0].Result.Score
			all = all[1:]
		}
	}
	return nil
}
