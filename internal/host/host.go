// Package host runs environments and policies in plug-in processes: it launches them,
// performs the handshake, supervises them and restarts them. Its callers see a plain
// env.Env or policy.Learner.
//
// A plug-in gets only the environment variables that are named, and neither stdin nor a
// terminal of the host. It cannot outlive the host, hang it or flood it. When it dies,
// the error contains its exit status and its last output.
package host

import (
	"context"
	"errors"

	"github.com/merit-rl/merit/core/env"
)

// Open starts the plug-in of cfg and configures it. The context bounds the start, not
// the life of the environment. Errors are *fault.Error. Those of boundary Plugin have
// kind Missing, Refused, Crashed, Timeout, Protocol or Interrupted. Those of boundary
// Config report, joined, what is wrong with cfg or what the plug-in rejects in its
// options.
//
// The result is an env.Renderer too. After Exchange returns an error, the process is
// gone, and the next batch of resets starts another one. The caller sees every death
// and decides how many to tolerate.
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
