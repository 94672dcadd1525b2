package fuel

// InstrumentNaive is the reference that the meter is held against: it charges every instruction on its own, right before it runs,
// with no notion of blocks. It shares the price list with the meter, and the code that charges by operand.
func InstrumentNaive(wasm []byte, options Options) (*Instrumented, error) {
	m := parse(wasm, options.Limits)
	if len(m.refused.Problems) > 0 {
		return nil, &m.refused
	}
	return m.rewrite(m.naive, options.slice()), nil
}

func (m *module) naive(i int) *plan {
	exact := m.plan(i)
	p := &plan{code: exact.code, results: exact.results, calls: exact.calls, weight: exact.weight, checks: true, left: exact.left}
	t, _ := m.signature(uint32(m.importedF + i))
	p.edits = []edit{{pos: p.code.start, cost: uint64((int(exact.left) - len(t.Params)) / localsPerFuel), check: true}}
	d := decoder{reader: reader{buf: m.wasm, pos: p.code.start, end: p.code.end}}
	for nest := uint32(0); d.next(); {
		in := &d.in
		if cost := price(in.op); cost > 0 {
			p.edits = append(p.edits, edit{pos: in.pos, cost: cost, check: true})
		}
		switch in.op {
		case opBlock, opLoop, opIf:
			nest++
		case opEnd:
			nest--
		case opReturn:
			p.edits = append(p.edits, edit{pos: in.pos, end: in.end, kind: leave, labels: []uint32{nest}})
		default:
			if in.isBulk() {
				p.edits = append(p.edits, in.bulk())
			}
		}
	}
	return p
}
