package local

import (
	"context"
	"encoding/binary"
	"fmt"

	"github.com/merit-rl/merit/sandbox/abi"
	"github.com/merit-rl/merit/sandbox/internal/engine"
)

// origin is where every evaluation of a module begins: what its first instance
// came to, and what the session learned on the way.
type origin struct {
	state *engine.State
	memo  []byte
}

// begin brings the worker to where evaluations begin: to the module's origin,
// or by starting the guest where there is none, because this is the first
// worker or because the isolation wants it.
func (w *worker) begin(ctx context.Context) error {
	m := w.module
	snapshots := m.isolation() == Snapshot
	if m.origin == nil && snapshots {
		m.origin = m.recallOrigin()
	}
	if o := m.origin; o != nil {
		if err := w.instance.Adopt(o.state); err != nil {
			return err
		}
		if err := w.guest.Resume(o.memo); err != nil {
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

// originName names all that decides about the origin beside Merit itself. The
// fuel of an evaluation does if one warms the guest up; else the same origin
// serves whatever an evaluation may use. Clocks end a start and change nothing.
func (m *Module) originName(evaluated bool) string {
	l := m.backend.options.Limits
	l.StartFuel, l.WallClock, l.StartWallClock = m.startBudget().Fuel, 0, 0
	if !evaluated {
		l.Fuel = 0
	}
	return fmt.Sprintf("origin %s %s %+v", m.program.Key(), m.info.Digest, l)
}

// evaluates reports whether the warm-up of the guest is evaluations.
func (m *Module) evaluates() bool { return m.manifest.WarmUp == abi.WarmUpConversation }

// keepOrigin puts the origin of a script into the cache: to start an
// interpreter and to import what a script needs takes longer than all else.
func (m *Module) keepOrigin() {
	if !m.script {
		return
	}
	memo := m.origin.memo
	out := append(binary.LittleEndian.AppendUint32(nil, uint32(len(memo))), memo...)
	if out, ok := m.origin.state.Append(out); ok {
		m.backend.engine.Keep(m.originName(m.evaluates()), out)
	}
}

// recallOrigin returns what an earlier process has kept, or nil.
func (m *Module) recallOrigin() *origin {
	if !m.script {
		return nil
	}
	data := m.backend.engine.Recall(m.originName(false))
	if len(data) == 0 {
		data = m.backend.engine.Recall(m.originName(true))
	}
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
	return &origin{state, data[:n:n]}
}
