package host

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/merit-rl/merit/core/env"
	"github.com/merit-rl/merit/core/fault"
)

// After so many deaths within a minute a plug-in is given time, and then up.
const (
	patience = 3
	window   = time.Minute
)

var pauses = []time.Duration{100 * time.Millisecond, 400 * time.Millisecond, 1600 * time.Millisecond}

// Launcher starts one plug-in as often as it is asked to, and remembers how
// often it died: after three deaths within a minute it waits longer and longer
// before the next start, and in the end refuses. It is safe for concurrent use.
type Launcher struct {
	cfg Config

	mu     sync.Mutex
	deaths []time.Time // within the window
	last   error
}

// NewLauncher returns a launcher of cfg's plug-in. Nothing is started yet.
func NewLauncher(cfg Config) *Launcher { return &Launcher{cfg: cfg} }

// Open starts the plug-in for a split: train, validation or test. The context
// bounds the start only. See the function Open for the errors.
func (l *Launcher) Open(ctx context.Context, split string) (env.Env, error) {
	if err := errors.Join(l.cfg.Validate()...); err != nil {
		return nil, err
	}
	cfg := l.cfg
	cfg.Split = split
	e := &environment{
		launcher: l, cfg: cfg, steps: newWatchdog(cfg.BatchDeadline), resets: newWatchdog(cfg.ResetDeadline),
	}
	if err := l.start(ctx, e); err != nil {
		return nil, err
	}
	return e, nil
}

// start connects e to a new process, unless there were too many of them.
func (l *Launcher) start(ctx context.Context, e *environment) error {
	deaths, last := l.recent()
	if deaths >= patience {
		again := deaths - patience
		if again >= len(pauses) {
			return &fault.Error{
				Boundary: fault.Plugin, Kind: fault.Crashed, Where: nameOf(l.cfg.Path),
				What: fmt.Sprintf("died %d times within a minute and is not started again; the last time", deaths),
				Hint: "mend the plug-in; what it said last is above", Err: last,
			}
		}
		if l.cfg.Log != nil {
			l.cfg.Log.Warn("plug-in keeps dying", "plugin", l.cfg.Path, "deaths", deaths, "pause", pauses[again], "error", last)
		}
		select {
		case <-time.After(pauses[again]):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	err := e.connect(ctx)
	if err != nil && fault.Retryable(err) {
		l.died(err)
	}
	return err
}

// recent counts the deaths within the window and returns the last error.
func (l *Launcher) recent() (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.deaths) > 0 && time.Since(l.deaths[0]) > window {
		l.deaths = l.deaths[1:]
	}
	return len(l.deaths), l.last
}

func (l *Launcher) died(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.deaths, l.last = append(l.deaths, time.Now()), err
	if l.cfg.Log != nil {
		l.cfg.Log.Warn("plug-in died", "plugin", l.cfg.Path, "split", l.cfg.Split, "error", err)
	}
}
