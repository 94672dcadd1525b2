package fuel

import (
	"github.com/merit-rl/merit/sandbox/internal/fuel/internal/binary"
	"github.com/merit-rl/merit/sandbox/internal/fuel/internal/gate"
)

// InstrumentNaive is the reference that the meter is held against: it charges every instruction on its own, right before it runs,
// with no notion of blocks. It shares the price list with the meter, and the code that charges by operand.
func InstrumentNaive(wasm []byte, options Options) (*Instrumented, error) {
	m := gate.Parse(wasm, options.Limits)
	if len(m.Refused.Problems) > 0 {
		return nil, &m.Refused
	}
	return rewrite(m, naive, options.slice()), nil
}

func naive(m *gate.Module, i int) *plan {
	exact := planOf(m, i)
	p := &plan{code: exact.code, results: exact.results, calls: exact.calls, weight: exact.weight, checks: true, left: exact.left, nans: exact.nans}
	t, _ := m.Signature(uint32(m.ImportedFuncs + i))
	p.edits = []edit{{pos: p.code.Start, cost: uint64((int(exact.left) - len(t.Params)) / localsPerFuel), check: true}}
	d := binary.Decoder{Reader: binary.Reader{Buf: m.Wasm, Pos: p.code.Start, End: p.code.End}}
	for nest := uint32(0); d.Next(); {
		in := &d.In
		if cost := price(in.Op); cost > 0 {
			p.edits = append(p.edits, edit{pos: in.Pos, cost: cost, check: true})
		}
		switch in.Op {
		case binary.OpBlock, binary.OpLoop, binary.OpIf:
			nest++
		case binary.OpEnd:
			nest--
		case binary.OpReturn:
			p.edits = append(p.edits, edit{pos: in.Pos, end: in.End, kind: leave, labels: []uint32{nest}})
		default:
			if in.IsBulk() {
				p.edits = append(p.edits, bulkEdit(in))
			}
		}
	}
	return p
}
