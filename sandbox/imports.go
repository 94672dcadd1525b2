package sandbox

import (
	"math"

	"github.com/merit-rl/merit/sandbox/internal/engine"
)

// meritImports is the import module merit_v1. Every pointer is checked; what
// is wrong ends the call.
func meritImports() []engine.Import {
	var list []engine.Import
	add := func(name, params string, call func(c *collector, i *engine.Instance, p []uint64) error) {
		list = append(list, engine.Import{Module: "merit_v1", Name: name, Params: params, Call: func(i *engine.Instance, p []uint64) {
			if err := call(i.Host.(*collector), i, p); err != nil {
				i.Abort(err)
			}
		}})
	}
	add("set_score", "d", func(c *collector, _ *engine.Instance, p []uint64) error {
		return c.setScore(math.Float64frombits(p[0]))
	})
	add("step", "id", func(c *collector, _ *engine.Instance, p []uint64) error {
		return c.setStep(int32(p[0]), math.Float64frombits(p[1]))
	})
	add("step_metric", "iiid", func(c *collector, i *engine.Instance, p []uint64) error {
		return c.stepMetric(int32(p[0]), view(i, p[1:]), math.Float64frombits(p[3]))
	})
	add("step_reason", "iii", func(c *collector, i *engine.Instance, p []uint64) error {
		return c.stepReason(int32(p[0]), view(i, p[1:]))
	})
	add("metric", "iid", func(c *collector, i *engine.Instance, p []uint64) error {
		return c.metric(view(i, p), math.Float64frombits(p[2]))
	})
	add("reason", "ii", func(c *collector, i *engine.Instance, p []uint64) error { return c.setReason(view(i, p)) })
	add("error", "ii", func(c *collector, i *engine.Instance, p []uint64) error { return c.setError(view(i, p)) })
	add("log", "iii", func(c *collector, i *engine.Instance, p []uint64) error {
		return c.logLine(int32(p[0]), view(i, p[1:]))
	})
	add("member", "i", func(c *collector, _ *engine.Instance, p []uint64) error { return c.setMember(int32(p[0])) })
	return list
}

// view returns the guest bytes at (ptr, len), charges for them, and ends the
// call if they do not exist.
func view(i *engine.Instance, p []uint64) []byte {
	ptr, size := uint32(p[0]), uint32(p[1])
	b, ok := i.Bytes(ptr, size)
	if !ok {
		i.Abort(violation("a text at %d of %d bytes lies outside of memory", ptr, size))
	}
	i.Charge(uint64(size))
	return b
}
