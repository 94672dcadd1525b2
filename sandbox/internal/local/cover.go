package local

import (
	"context"
	"sync"

	"github.com/merit-rl/merit/sandbox/internal/cover"
	"github.com/merit-rl/merit/sandbox/internal/profile"
	"github.com/merit-rl/merit/sandbox/internal/source"
)

// coverage is what a Module knows about its coverage.
type coverage struct {
	script *source.Script // nil if it is compiled
	lines  bool           // the script records its own lines, instead of the interpreter
	once   sync.Once
	known  *cover.Map
}

// arm lets a script that records its own lines begin with it. The warm-up before is not recorded,
// and costs what it costs without coverage.
func (w *worker) arm(ctx context.Context) error {
	s, ok := w.session.(profile.Covered)
	if !ok || !w.module.coverage.lines {
		return nil
	}
	if _, stop := w.within(ctx, w.module.startBudget(), s.Arm); stop != nil {
		return w.notStarted(stop)
	}
	return nil
}

// cover keeps what the evaluation that just ended reached, however it ended.
func (w *worker) cover() {
	if s, ok := w.session.(profile.Covered); ok && w.module.coverage.lines {
		w.covered, w.words = s.Cover()
		return
	}
	w.covered = w.instance.Cover()
}

// Map describes the coverage of the reward. It is empty if coverage is off. The first call reads the
// module again.
func (m *Module) Map() *cover.Map {
	c := &m.coverage
	c.once.Do(func() {
		if c.known != nil {
			return
		}
		c.known = &cover.Map{}
		wasm, err := m.bytes.Read()
		switch {
		case err != nil || !m.bytes.Cover:
		case c.script == nil:
			c.known = cover.Compiled(wasm, m.backend.gate(false))
		default:
			c.known = cover.Interpreted(wasm, m.backend.gate(true), c.script.Files)
		}
	})
	return c.known
}
