package fuel

import (
	"strconv"

	"github.com/merit-rl/merit/sandbox/internal/fuel/internal/binary"
	"github.com/merit-rl/merit/sandbox/internal/fuel/internal/gate"
)

const coverPrefix = gate.ReservedPrefix + "cover_"

// CoverGlobal names the nth word of the coverage, a mutable i64: bit i of it is set once the block
// with the place 64·n+i has begun. The host reads the words after a run, and clears them before.
func CoverGlobal(n int) string { return coverPrefix + strconv.Itoa(n) }

// MostPlaces limits the places of a module: 8 KiB that the host reads and clears for every
// evaluation.
const MostPlaces = 1 << 16

// Block is a metered block of the original module.
type Block struct {
	Func int // index of its function, imports counted
	At   int // offset of its first instruction in the content of the code section, as in DWARF
}

// coverage numbers the blocks in the order of the code. In a module with more than MostPlaces of
// them, neighbors share a place: unlike a hash, that keeps a place within few lines of one function.
type coverage struct {
	on     bool
	global uint32 // the index of the first word
	share  int    // blocks with the same place
	words  int
	next   int // the number of the next block
}

// shared returns how many of n blocks share a place, and the number of places.
func shared(n int) (share, places int) {
	share = max((n+MostPlaces-1)/MostPlaces, 1)
	return share, (n + share - 1) / share
}

// begins reports whether a block begins with edit i, which runs as its own if it is the first of
// the function or costs something.
func (p *plan) begins(i int) bool {
	e := &p.edits[i]
	return i == 0 || e.kind == charge && (e.check || e.cost > 0)
}

// mark records that the block at edit i has begun. The guest is not charged for it, so that fuel is
// the same with and without coverage.
func (w *meter) mark(p *plan, i int) {
	c := &w.cover
	if !c.on || !p.begins(i) {
		return
	}
	place := c.next / c.share
	c.next++
	global := c.global + uint32(place/64)
	w.Op(binary.OpGlobalGet, global)
	w.I64(1 << (place % 64))
	w.Op(binary.OpI64Or)
	w.Op(binary.OpGlobalSet, global)
}

// Cover is Instrument for a module that also records which blocks began. Results and fuel are the
// same.
func Cover(wasm []byte, options Options) (*Instrumented, error) {
	m := gate.Parse(wasm, options.Limits)
	if len(m.Refused.Problems) > 0 {
		return nil, &m.Refused
	}
	plans := make([]*plan, len(m.Bodies))
	n := 0
	for i := range plans {
		plans[i] = planOf(m, i)
		for e := range plans[i].edits {
			if plans[i].begins(e) {
				n++
			}
		}
	}
	w := newMeter(m, options.slice())
	share, places := shared(n)
	w.cover = coverage{on: true, global: w.reserve + 1, share: share, words: (places + 63) / 64}
	return w.rewrite(func(_ *gate.Module, i int) *plan { return plans[i] }), nil
}

// Places returns the first block of every place of Cover, in order, for a module that passed the
// gate. The error is a *Refused.
func Places(wasm []byte, limits Limits) ([]Block, error) {
	m := gate.Parse(wasm, limits)
	if len(m.Refused.Problems) > 0 {
		return nil, &m.Refused
	}
	var blocks []Block
	code := m.Code()
	for i := range m.Bodies {
		p := planOf(m, i)
		for e := range p.edits {
			if p.begins(e) {
				blocks = append(blocks, Block{Func: m.ImportedFuncs + i, At: p.edits[e].pos - code})
			}
		}
	}
	share, places := shared(len(blocks))
	for i := range places {
		blocks[i] = blocks[i*share]
	}
	return blocks[:places], nil
}
