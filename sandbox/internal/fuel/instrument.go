package fuel

import (
	"cmp"

	"github.com/merit-rl/merit/sandbox/internal/fuel/internal/binary"
	"github.com/merit-rl/merit/sandbox/internal/fuel/internal/gate"
)

// The names under which an instrumented module exports what Merit added. The
// gate rejects modules that use them.
const (
	// FuelGlobal is a mutable i64: the rest of a slice. The host sets it and
	// ReserveGlobal before every call; the remaining fuel is their sum. A sum
	// below zero means out of fuel, even after a call that returned: the last
	// part of a run may end before the next check.
	FuelGlobal = gate.ReservedPrefix + "fuel"
	// DepthGlobal is a mutable i64: the remaining depth. The host sets it
	// before every call, because a trap does not give it back. Below zero means
	// that calls were nested too deeply.
	DepthGlobal = gate.ReservedPrefix + "depth"
	// ReserveGlobal is a mutable i64: the remaining fuel beyond FuelGlobal.
	ReserveGlobal = gate.ReservedPrefix + "reserve"
	// StartExport is the original start function, if the module had one. The
	// host calls it after setting fuel and depth.
	StartExport = gate.ReservedPrefix + "start"

	statePrefix = gate.ReservedPrefix + "state_"
)

// Options configure Instrument.
type Options struct {
	// Limits of the gate. Memory and tables of the instrumented module are declared with maxima within them.
	Limits
	// Slice is the fuel after which the module returns to Go, whose scheduler
	// can then preempt it. Zero means DefaultSlice.
	Slice uint32
}

// DefaultSlice takes typical code a microsecond. It is small because fuel is
// not time: with a measured 1.5 µs for a page that is touched for the first
// time, and three instructions per page, it takes 4 ms.
const DefaultSlice = 8 << 10

func (o Options) slice() uint32 { return cmp.Or(o.Slice, DefaultSlice) }

// StateGlobal is a mutable global of the guest, exported so that its value can be saved and restored.
type StateGlobal struct {
	Name string
	Type ValueType
}

// Instrumented is a metered module.
type Instrumented struct {
	Wasm []byte
	// Info describes the original module.
	Info *Info
	// State lists the guest's own mutable globals of number type, in the order of their indices.
	State []StateGlobal
	// Start is StartExport if the module had a start function, else empty.
	Start string
	// Slice is that of Options: the most that the host gives out first.
	Slice uint32
}

// Instrument inspects a module and rewrites it so that it counts fuel and depth
// and exports its state. A runtime must validate the original before the result
// is used. The error is a *Refused.
func Instrument(wasm []byte, options Options) (*Instrumented, error) {
	m := gate.Parse(wasm, options.Limits)
	if len(m.Refused.Problems) > 0 {
		return nil, &m.Refused
	}
	return rewrite(m, planOf, options.slice()), nil
}

// rewrite assembles the metered module; planOf decides what to do with each
// function.
func rewrite(m *gate.Module, planOf func(m *gate.Module, defined int) *plan, slice uint32) *Instrumented {
	w := newMeter(m, slice)
	code := w.bodies(planOf)
	result := &Instrumented{Info: m.Info, Slice: slice}
	b := builder{binary.Encoder{Out: make([]byte, 0, len(m.Wasm)+len(code))}, m, w, code, result}
	b.build()
	result.Wasm = b.Out
	return result
}

// bodies returns the content of the metered code section.
func (w *meter) bodies(planOf func(m *gate.Module, defined int) *plan) []byte {
	code := binary.Encoder{Out: make([]byte, 0, w.m.Info.CodeBytes+w.m.Info.CodeBytes/2+16)}
	for i := range w.m.Bodies {
		w.Out = w.Out[:0]
		w.body(w.m.Bodies[i].Start, planOf(w.m, i))
		code.U32(uint32(len(w.Out)))
		code.Raw(w.Out...)
	}
	for _, h := range w.helpers {
		body := w.helper(h)
		code.U32(uint32(len(body)))
		code.Raw(body...)
	}
	count := binary.Encoder{}
	count.U32(uint32(len(w.m.Bodies) + len(w.helpers)))
	return append(count.Out, code.Out...)
}
