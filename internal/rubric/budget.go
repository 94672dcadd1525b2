package rubric

import (
	"fmt"
	"sync/atomic"

	"github.com/merit-rl/merit/core/reward"
)

// budget is the fuel that all verdicts of one evaluation may use together. It is spent in the
// order of criteria and outputs, and a cached verdict costs what it cost originally. So the
// verdicts of an evaluation are a function of rubric and workflow, independent of the cache
// and of concurrency.
type budget struct {
	most  uint64          // 0 is unlimited
	spent []atomic.Uint64 // by criterion
}

func newBudget(most uint64, criteria int) *budget {
	return &budget{most: most, spent: make([]atomic.Uint64, criteria)}
}

// left reports whether criterion i may have another verdict, as far as is known: earlier
// criteria may still be running. cut removes verdicts that exceed the budget.
func (b *budget) left(i int) bool {
	sum := uint64(0)
	for j := range i + 1 {
		sum += b.spent[j].Load()
	}
	return b.most == 0 || sum < b.most
}

// spend records the fuel of a verdict of criterion i.
func (b *budget) spend(i int, v Verdict) { b.spent[i].Add(v.Fuel) }

// cut replaces the verdicts beyond the end of the budget.
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

// exhausted is the verdict of a rule for which no fuel is left.
func (b *budget) exhausted() Verdict {
	return Verdict{Outcome: reward.OutOfFuel, Reason: fmt.Sprintf("not tried: the rubric has used up the fuel of all its rules, %d (rubric.total_fuel)", b.most)}
}
