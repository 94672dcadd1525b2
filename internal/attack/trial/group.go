package trial

import (
	"context"
	"fmt"

	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/attack/reply"
)

// Compares reports whether the reward compares the replies of a group.
func (t *Target) Compares() bool { return t.compares() }

// Together scores groups of replies to one task, each group by itself.
func (t *Target) Together(ctx context.Context, at int, groups [][]reply.Reply) (all [][]*Trial, err error) {
	c := t.Cases[at]
	var rows []*rl.Trajectory
	var flat []*Trial
	for g, members := range groups {
		var trials []*Trial
		for _, r := range members {
			x := &Trial{Case: at, Reply: r}
			if !x.prepare(t) {
				return nil, nil
			}
			x.Row.Group = fmt.Sprintf("group %d", g)
			trials, flat, rows = append(trials, x), append(flat, x), append(rows, x.Row)
		}
		all = append(all, trials)
	}
	found, err := t.pool.EvaluateAll(ctx, rows, nil)
	if err != nil {
		return nil, err
	}
	t.Evaluations += len(rows)
	for i, x := range flat {
		x.Found, x.Right = found[i], c.Right
	}
	return all, nil
}

// Nonsense is a reply that is wrong for every task.
func Nonsense() reply.Reply {
	return reply.Text("Perhaps wumble the frobnicated zyxqv of a brontide.")
}
