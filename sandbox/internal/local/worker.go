package local

import (
	"context"

	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/sandbox/abi"
	"github.com/merit-rl/merit/sandbox/internal/channel"
	"github.com/merit-rl/merit/sandbox/internal/engine"
	"github.com/merit-rl/merit/sandbox/internal/profile"
	"github.com/merit-rl/merit/sandbox/internal/result"
)

// worker is one instance with what is needed to call it.
type worker struct {
	module    *Module
	instance  *engine.Instance
	collector *result.Collector
	guest     profile.Guest     // session or exchange
	session   profile.Session   // nil if it is a program that a reward opens
	exchange  profile.Exchange  // nil if it is a reward
	ctx       context.Context   // of the running evaluation
	beside    *beside           // the programs of a script; nil if it may open none
	started   bool              // the snapshot is done, so it may open programs
	one       [1]*rl.Trajectory // the members of a single evaluation
}

// newWorker makes an instance in the state from which every evaluation starts.
func (m *Module) newWorker(ctx context.Context) (*worker, error) {
	limits := m.backend.options.Limits
	i, err := m.program.Instantiate(ctx, uint64(limits.MemoryMiB)<<20)
	if err != nil {
		return nil, err
	}
	w := &worker{module: m, instance: i, collector: result.NewCollector(limits, m.info.StepIndexing)}
	i.Host, w.collector.Asks = w.collector, w.ask
	w.open()
	if err := w.begin(ctx); err != nil {
		i.Close()
		return nil, err
	}
	if r, ok := w.session.(profile.Restored); ok && m.isolation() != Shared {
		r.Restored()
	}
	w.started = true
	return w, nil
}

// open prepares the worker for calls.
func (w *worker) open() {
	m, limits := w.module, w.module.backend.options.Limits
	if m.nested != nil {
		w.exchange = m.nested.Open(w.instance, w.collector, limits)
		w.guest = w.exchange
		return
	}
	w.session = m.profile.Open(w.instance, w.collector, limits)
	if w.guest = w.session; m.script {
		w.beside = &beside{worker: w}
		w.instance.Channel = w.beside
	}
}

// run evaluates members from the worker's current state. input is nil unless
// members are already encoded. A spoilt worker must not be used again.
func (w *worker) run(ctx context.Context, members []*rl.Trajectory, input []byte) (fuel uint64, v *result.Verdict, spoilt bool) {
	w.collector.Start(members, w.module.info.Group)
	if w.beside != nil {
		w.beside.begin(ctx)
	}
	w.ctx = ctx
	defer func() { w.ctx = nil }()
	if model := channel.ModelOf(ctx); model != nil && w.started {
		model.Begin()
	}
	limit := w.module.backend.options.InputMiB << 20
	if input == nil {
		var err error
		if input, err = w.session.Input(members); err != nil {
			return 0, result.BadInput(err), false
		}
	}
	if len(input) > limit {
		return 0, result.BadInput(&abi.TooLarge{Limit: limit}), false
	}
	budget := w.module.budget(len(input), len(members))
	w.instance.Begin(ctx, budget)
	stop := engine.Guarded(func() (stop *engine.Stop) {
		v, stop = w.session.Evaluate(input)
		return stop
	})
	fuel, late := w.instance.End()
	w.module.notePeak(w.instance.Size())
	if late != nil {
		stop = late
	}
	switch {
	case stop == nil && v == nil:
		return fuel, w.swallowed(), false
	case stop == nil:
		return fuel, v, false
	case stop.Kind == engine.OutOfFuel:
		return fuel, result.OutOfFuel(fuel, budget.Fuel, w.module.warmUpName()), true
	}
	return fuel, result.Stopped(stop, w.instance.MemoryDenied()), true
}

// warmUpName names the warm-up of a reward of this kind.
func (m *Module) warmUpName() string {
	if !m.script {
		return "an exported function merit_warm_up"
	}
	if m.profile.Name() == "python" {
		return "a function marked with @warm_up (docs/python.md)"
	}
	return "an exported function warmUp (docs/javascript.md)"
}

// wanted returns the language of a program that stopped the evaluation because
// it is not loaded yet, or "".
func (w *worker) wanted() string {
	if w.beside == nil {
		return ""
	}
	return w.beside.wanted
}

// result builds the evaluation of member i after run.
func (w *worker) result(i int, v *result.Verdict) reward.Evaluation {
	if v != nil {
		return v.Evaluation(w.collector.Log())
	}
	return w.collector.Evaluation(i, w.collector.Log())
}

// ready restores the worker to the state from which every evaluation starts. It
// returns false if the worker cannot be used again.
func (w *worker) ready() bool {
	switch m := w.module; m.isolation() {
	case Shared:
		return true
	case Snapshot:
		return m.backend.options.Isolation != Fresh && w.instance.Restore() == nil
	}
	return false
}
