package rubric

import (
	"fmt"
	"sync/atomic"

	"github.com/merit-rl/merit/core/reward"
)

// budget is the fuel that all verdicts of one evaluation may use together. It is
// spent in the order of the criteria and of their outputs, and a verdict that
// was kept costs what it cost when it was found out: so which verdicts there are
// is a function of rubric and workflow, whatever is kept and however many
// criteria are applied at one time.
type budget struct {
	most  uint64          // 0 has no end
	spent []atomic.Uint64 // by criterion
}

func newBudget(most uint64, criteria int) *budget {
	return &budget{most: most, spent: make([]atomic.Uint64, criteria)}
}

// left reports whether criterion i may have another verdict, as far as is known:
// criteria before it may still be at work. What was found out too much, cut
// takes away.
func (b *budget) left(i int) bool {
	sum := uint64(0)
	for j := range i + 1 {
		sum += b.spent[j].Load()
	}
	return b.most == 0 || sum < b.most
}

// spend notes what a verdict of criterion i has used.
func (b *budget) spend(i int, v Verdict) { b.spent[i].Add(v.Fuel) }

// cut takes away the verdicts behind the end of the budget.
func (b *budget) cut(results []Result) {
	if b.most == 0 {
		return
	}
	sum := uint64(0)
	for i := range results {
		c := &results[i]
		for o := range c.Verdicts {
			if sum >= b.most {
				c.Verdicts[o] = b.exhausted()
			}
			sum += c.Verdicts[o].Fuel
		}
		c.Constant = constant(c.Verdicts)
		if !c.Constant {
			c.Empty, c.Vacuous = nil, false
		}
		if c.Empty != nil {
			if sum >= b.most {
				empty := b.exhausted()
				c.Empty, c.Vacuous = &empty, false
			}
			sum += c.Empty.Fuel
		}
	}
}

// exhausted is the verdict that there is no fuel for.
func (b *budget) exhausted() Verdict {
	return Verdict{Outcome: reward.OutOfFuel, Reason: fmt.Sprintf("not tried: the rubric has used up the fuel of all its rules, %d (rubric.total_fuel)", b.most)}
}
