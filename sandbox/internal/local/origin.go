package local

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"

	"github.com/merit-rl/merit/sandbox/abi"
	"github.com/merit-rl/merit/sandbox/internal/engine"
)

// origin is the state from which every evaluation of a module starts: the state
// of its first instance after the start, and what the session learned during
// it.
type origin struct {
	state *engine.State
	memo  []byte
}

// begin brings the worker to the state in which evaluations start: the module's
// origin or, for the first worker and for modes without an origin, a new start
// of the guest.
func (w *worker) begin(ctx context.Context) error {
	m := w.module
	snapshots := m.isolation() == Snapshot
	if m.origin == nil && snapshots {
		m.origin = m.recallOrigin()
	}
	if o := m.origin; o != nil {
		if err := w.adopt(o); err != nil {
			return err
		}
		return w.describe()
	}
	if err := w.prepare(ctx); err != nil || !snapshots {
		return err
	}
	state, err := w.instance.Snapshot()
	if err == nil {
		m.origin = &origin{state, w.guest.Memo()}
		m.keepOrigin()
	}
	return err
}

// adopt sets the worker to an origin.
func (w *worker) adopt(o *origin) error {
	if err := w.instance.Adopt(o.state); err != nil {
		return err
	}
	return w.guest.Resume(o.memo)
}

// originName names everything that determines the origin, apart from Merit
// itself. That includes the fuel of an evaluation only if evaluations warm the
// guest up. Wall clocks stop a start but do not change its result.
func (m *Module) originName(evaluated bool) string {
	l := m.backend.options.Limits
	l.StartFuel, l.WallClock, l.StartWallClock = m.startBudget().Fuel, 0, 0
	if !evaluated {
		l.Fuel = 0
	}
	if m.asks { // one that was granted questions may have kept their result
		return fmt.Sprintf("asking origin %s %s %+v", m.program.Key(), m.info.Digest, l)
	}
	return fmt.Sprintf("origin %s %s %+v", m.program.Key(), m.info.Digest, l)
}

// evaluates reports whether evaluations warm the guest up.
func (m *Module) evaluates() bool { return m.manifest.WarmUp == abi.WarmUpConversation }

// keepOrigin caches the origin of a script, because starting an interpreter and
// importing packages takes longer than everything else.
func (m *Module) keepOrigin() {
	if !m.script {
		return
	}
	if pieces, ok := m.origin.pieces(); ok {
		m.backend.engine.Keep(m.originName(m.evaluates()), pieces...)
	}
}

// pieces encodes the origin. It returns false if its state cannot be stored.
func (o *origin) pieces() ([][]byte, bool) {
	state, ok := o.state.Pieces()
	return append([][]byte{binary.LittleEndian.AppendUint32(nil, uint32(len(o.memo))), o.memo}, state...), ok
}

// recallOrigin returns the origin that an earlier process cached, or nil.
func (m *Module) recallOrigin() (o *origin) {
	for _, evaluated := range []bool{false, true} {
		if o == nil && m.script {
			m.backend.engine.Recall(m.originName(evaluated), func(data []byte) { o = parseOrigin(data) })
		}
	}
	return o
}

// parseOrigin decodes the joined output of pieces, or returns nil.
func parseOrigin(data []byte) *origin {
	if len(data) < 4 {
		return nil
	}
	n := int(binary.LittleEndian.Uint32(data))
	if data = data[4:]; n > len(data) {
		return nil
	}
	state, err := engine.ParseState(data[n:])
	if err != nil {
		return nil
	}
	return &origin{state, bytes.Clone(data[:n])}
}
