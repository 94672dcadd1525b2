// Package choice is the form of the game in which each decision is one of a
// fixed list: what to do with the task that has the floor.
package choice

import (
	"strconv"

	"github.com/merit-rl/merit/plugins/internal/htdag/internal/request"
)

// Action is one of the list.
type Action struct {
	Name  string
	Does  Deed
	Work  request.Kind  // for Split
	Shape request.Shape // for Split
}

// Deed is what an action does.
type Deed uint8

// The deeds.
const (
	Execute Deed = iota // the plan as it is
	Leave               // the task as it is; the next one has the floor
	Later               // another task has the floor first
	Split               // the task, into work of a kind and shape
)

// Actions returns the list: three and every shape of every trade.
func Actions() []Action {
	all := []Action{{Name: "execute", Does: Execute}, {Name: "leave", Does: Leave}, {Name: "later", Does: Later}}
	for _, trade := range request.Trades() {
		for bits := range 16 {
			s := request.Shape{Workers: 2 + bits&1, Lead: bits&2 != 0, Check: bits&4 != 0, InOrder: bits&8 != 0}
			all = append(all, Action{Name: Name(trade, s), Does: Split, Work: trade.Work, Shape: s})
		}
	}
	return all
}

// Name says a shape in words, such as "design, build x3 in order, test".
func Name(t request.Trade, s request.Shape) string {
	name := t.Work.String() + " x" + strconv.Itoa(s.Workers)
	if s.InOrder {
		name += " in order"
	}
	if s.Lead {
		name = t.Lead.String() + ", " + name
	}
	if s.Check {
		name += ", " + t.Check.String()
	}
	return name
}
