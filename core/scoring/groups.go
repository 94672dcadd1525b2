package scoring

import (
	"fmt"
	"hash/maphash"

	"github.com/merit-rl/merit/core/fault"
)

// open is the group whose members are coming.
type open struct {
	name  string
	slots []*slot
	bytes int64
	wrong *fault.Error // why none of its members is evaluated
}

// group puts the members of groups together, in the order of the lines.
func (p *pipeline) group() {
	g := &open{}
	var before recent
	lost := 0 // the first of the bad lines directly before, if any
	for x := range p.members {
		select {
		case <-x.read:
		case <-p.ctx.Done():
			return
		}
		if p.Batch > 0 {
			if !p.batched(g, x) {
				return
			}
			continue
		}
		if x.bad != nil {
			close(x.done)
			if lost == 0 {
				lost = x.number
			}
			g.lack(x.number)
			continue
		}
		if x.t.Group == "" || x.t.Group != g.name || len(g.slots) == 0 && g.wrong == nil {
			if !p.dispatch(g) {
				return
			}
			g = &open{name: x.t.Group, wrong: before.again(x.t.Group)}
			if lost > 0 {
				g.lack(lost)
			}
		}
		lost = 0
		g.slots, g.bytes = append(g.slots, x), g.bytes+x.size
		if g.wrong == nil && p.tooLarge(g) {
			g.wrong = &fault.Error{
				Boundary: fault.Data, Kind: fault.Exhausted,
				What: fmt.Sprintf("group %q has more than %d members or %d bytes", g.name, p.MaxGroup, p.Bytes-int64(p.MaxLine)),
				Hint: "send smaller groups, or ask the operator for larger limits",
			}
		}
		switch {
		case g.wrong != nil:
			g.refuse()
		case g.name == "": // a group of its own
			if !p.dispatch(g) {
				return
			}
			g = &open{}
		}
	}
	if p.broken { // other members may have been on their way
		g.wrong = &fault.Error{
			Boundary: fault.Data, Kind: fault.Interrupted, Retry: true,
			What: fmt.Sprintf("the input ended inside group %q", g.name), Hint: "send the whole group again",
		}
		g.refuse()
	}
	p.dispatch(g)
}

func (p *pipeline) tooLarge(g *open) bool {
	return len(g.slots) > p.MaxGroup || g.bytes > p.Bytes-int64(p.MaxLine)
}

// batched adds a line to a batch, and has it evaluated when it is full. A line
// that cannot be read is not counted, as in a file with --skip-bad.
func (p *pipeline) batched(g *open, x *slot) bool {
	if x.bad != nil {
		close(x.done)
		return true
	}
	g.slots, g.bytes = append(g.slots, x), g.bytes+x.size
	if p.tooLarge(g) {
		g.wrong = &fault.Error{
			Boundary: fault.Data, Kind: fault.Exhausted,
			What: fmt.Sprintf("a batch of %d lines has more than %d lines or %d bytes", p.Batch, p.MaxGroup, p.Bytes-int64(p.MaxLine)),
			Hint: "use a smaller batch, or ask the operator for larger limits",
		}
		g.refuse()
		return true
	}
	if len(g.slots) < p.Batch && g.wrong == nil {
		return true
	}
	full := open{slots: g.slots}
	*g = open{}
	return p.dispatch(&full)
}

// lack refuses a group that may have had a member in a line that cannot be
// read: nobody knows of which group such a line was, and without it the others
// would have the numbers of a smaller group.
func (g *open) lack(line int) {
	if g.name == "" || g.wrong != nil {
		return
	}
	g.wrong = &fault.Error{
		Boundary: fault.Data, Kind: fault.Invalid,
		What: fmt.Sprintf("line %d cannot be read and may belong to group %q, which the reward compares as a whole", line, g.name),
		Hint: fmt.Sprintf("correct line %d and send the whole group again, in another request", line),
	}
	g.refuse()
}

// refuse answers the members that are there.
func (g *open) refuse() {
	for _, x := range g.slots {
		x.bad, x.t = g.wrong, nil
		close(x.done)
	}
	g.slots = nil
}

// dispatch has a whole group evaluated.
func (p *pipeline) dispatch(g *open) bool {
	if len(g.slots) == 0 {
		return true
	}
	return send(p.ctx, p.work, func() { p.evaluate(g.slots) })
}

// remembered is how many groups are known again.
const remembered = 1 << 16

// recent is the groups that came last, as hashes.
type recent struct {
	seed  maphash.Seed
	known map[uint64]bool
	ring  []uint64
	next  int
}

// again notes a group and says if it came before. The group "" is none.
func (r *recent) again(name string) *fault.Error {
	if name == "" {
		return nil
	}
	if r.known == nil {
		r.seed, r.known = maphash.MakeSeed(), map[uint64]bool{}
	}
	h := maphash.String(r.seed, name)
	if r.known[h] {
		return &fault.Error{
			Boundary: fault.Data, Kind: fault.Invalid,
			What: fmt.Sprintf("group %q occurs again after another group", name),
			Hint: "send the members of a group one after the other: this reward compares them",
		}
	}
	if len(r.ring) < remembered {
		r.ring = append(r.ring, h)
	} else {
		delete(r.known, r.ring[r.next])
		r.ring[r.next], r.next = h, (r.next+1)%remembered
	}
	r.known[h] = true
	return nil
}
