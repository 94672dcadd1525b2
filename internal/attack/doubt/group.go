package doubt

import (
	"context"
	"fmt"

	"github.com/merit-rl/merit/internal/attack/reply"
	"github.com/merit-rl/merit/internal/attack/trial"
)

// Groups doubts a reward that compares the replies of a group: equal replies must score the same wherever
// they are, and a group of wrong replies no more than one of right ones.
func (d *Doubter) Groups(ctx context.Context) (all []*Verdict, err error) {
	if !d.Target.Compares() {
		return nil, nil
	}
	var places, levels []*trial.Trial
	var placed, leveled []string
	kinds := []string{"the same reply at another place in the group", "a group of wrong replies"}
	for i, c := range d.Target.Cases {
		right := c.Oracle
		if right == nil {
			continue
		}
		w := trial.Nonsense()
		groups, err := d.Target.Together(ctx, i, [][]reply.Reply{{right, w, w, w}, {w, right, w, w}, {w, w, right, w}, {w, w, w, right}, {right, right, right, right}, {w, w, w, w}})
		if err != nil {
			return nil, err
		}
		if groups == nil {
			continue
		}
		if x, why := d.unequal(groups[:4]); x != nil {
			places, placed = append(places, x), append(placed, why)
		}
		good, bad := groups[4][0], groups[5][0]
		if good.Scored() && bad.Scored() && bad.Score() > good.Score()+1e-9 {
			bad.Right = good.Score()
			levels = append(levels, bad)
			leveled = append(leveled, fmt.Sprintf("Task %s: in a group of four wrong replies each scores %g, and in one of four right replies each scores %g.", c.Row.ID, bad.Score(), good.Score()))
		}
	}
	for k, list := range [][]*trial.Trial{places, levels} {
		if why := [][]string{placed, leveled}[k]; len(list) > 0 {
			all = append(all, &Verdict{Doubt: Position, Kind: kinds[k], Trial: list[0], Evidence: why[:1], Cases: []int{list[0].Case}, Weight: 1})
		}
	}
	return all, nil
}

// unequal returns a wrong reply that scores more than the same one elsewhere in its group.
func (d *Doubter) unequal(groups [][]*trial.Trial) (*trial.Trial, string) {
	for at, g := range groups {
		var low, high *trial.Trial
		for i, x := range g {
			if i == at || !x.Scored() {
				continue
			}
			if low == nil || x.Score() < low.Score() {
				low = x
			}
			if high == nil || x.Score() > high.Score() {
				high = x
			}
		}
		right := g[at]
		if low != nil && right.Scored() && high.Score()-low.Score() > 0.1*max(1e-6, right.Score()-low.Score()) {
			high.Right = right.Score()
			return high, fmt.Sprintf("Task %s: of three equal wrong replies in one group with a right one, one scores %g and another %g.", d.id(high), high.Score(), low.Score())
		}
	}
	return nil, ""
}
