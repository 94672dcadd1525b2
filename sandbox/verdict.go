package sandbox

import (
	"errors"
	"fmt"

	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/sandbox/internal/engine"
)

// verdict is an outcome other than a score, with its reason. Host functions
// end a call with it.
type verdict struct {
	outcome reward.Outcome
	reason  string
}

func (v *verdict) Error() string { return v.reason }

func violation(format string, args ...any) *verdict {
	return &verdict{reward.ABIViolation, fmt.Sprintf(format, args...)}
}

func overOutput(limit string) *verdict {
	return &verdict{reward.OutputLimit, "the reward returns more than limits." + limit + " allows"}
}

func infrastructure(err error) *verdict { return &verdict{reward.Infrastructure, err.Error()} }

// stopped translates how a guest ended.
func stopped(s *engine.Stop, denied bool) *verdict {
	var v *verdict
	switch {
	case s.Kind == engine.Refused && errors.As(s.Err, &v):
		return v
	case s.Kind == engine.OutOfFuel:
		return &verdict{reward.OutOfFuel, "the evaluation used up its fuel (limits.fuel)"}
	case s.Kind == engine.TimedOut:
		return &verdict{reward.Timeout, "the evaluation ran longer than limits.wall_clock"}
	case s.Kind == engine.Cancelled:
		return &verdict{reward.Infrastructure, "cancelled"}
	case denied:
		return &verdict{reward.OutOfMemory, "the module was refused more memory (limits.memory_mib) and ended: " + s.Error()}
	case s.Kind == engine.TooDeep:
		return &verdict{reward.Trap, "calls are nested too deeply (limits.call_depth)"}
	case s.Kind == engine.Exited && s.Code == 0:
		return violation("the module exited instead of returning a status")
	}
	return &verdict{reward.Trap, escape(s.Error())}
}

// asVerdict turns the error of a collector, which is always a verdict, back.
func asVerdict(err error) *verdict {
	if err == nil {
		return nil
	}
	var v *verdict
	if errors.As(err, &v) {
		return v
	}
	return infrastructure(err)
}
