// Package host runs environments and policies that live in plug-in processes:
// launch, handshake, supervision, restart. What it returns is a plain env.Env
// or policy.Learner.
//
// A plug-in gets no environment variables but those that are named, no stdin
// and no terminal of the host; it cannot outlive the host, hang it or flood it;
// when it dies, the error says with which status and with which last words.
package host

import (
	"context"
	"errors"

	"github.com/merit-rl/merit/core/env"
)

// Open starts the plug-in of cfg and configures it. The context bounds the
// start, not the life of the environment. Errors are *fault.Error: of boundary
// Plugin with kind Missing, Refused, Crashed, Timeout, Protocol or Interrupted,
// or those of boundary Config that are wrong with cfg or that the plug-in has
// against its options, joined.
//
// What Open returns is an env.Renderer too. After an error of Exchange its
// process is gone, and the next batch of resets starts another: it is the
// caller who sees every death and decides how many are enough.
func Open(ctx context.Context, cfg Config) (env.Env, error) {
	if err := errors.Join(cfg.Validate()...); err != nil {
		return nil, err
	}
	e := &environment{cfg: cfg, steps: newWatchdog(cfg.BatchDeadline), resets: newWatchdog(cfg.ResetDeadline)}
	if err := e.connect(ctx); err != nil {
		return nil, err
	}
	return e, nil
}
