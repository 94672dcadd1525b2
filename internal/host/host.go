// Package host runs environments and policies in plug-in processes: it launches them,
// performs the handshake, supervises them and restarts them. Its callers see a plain
// env.Env or policy.Learner. An environment may also be a WebAssembly module, which the
// sandbox runs in this process.
//
// A plug-in gets only the environment variables that are named, and neither stdin nor a
// terminal of the host. It cannot outlive the host, hang it or flood it. When it dies,
// the error contains its exit status and its last output.
package host

import (
	"context"
	"errors"

	"github.com/merit-rl/merit/core/env"
	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/host/disk"
	"github.com/merit-rl/merit/internal/wire"
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
	if disk.Runs(cfg.Path) {
		e, _, err := openModule(ctx, cfg)
		return e, err
	}
	e := &environment{cfg: cfg, steps: newWatchdog(cfg.BatchDeadline), resets: newWatchdog(cfg.ResetDeadline)}
	if err := e.connect(ctx); err != nil {
		return nil, err
	}
	return e, nil
}

// openModule opens an environment in the sandbox, which the digests of cfg must allow.
func openModule(ctx context.Context, cfg Config) (env.Env, wire.Description, error) {
	file, whole, err := disk.Module(cfg.Path)
	if err == nil {
		var problems fault.Problems
		cfg.alone(&problems)
		err = errors.Join(problems...)
	}
	if err == nil {
		_, err = disk.Expected(cfg.Path, disk.Expectation{Digest: cfg.Digest, Allow: cfg.Allow})
	}
	if err != nil {
		return nil, wire.Description{}, err
	}
	cfg.Sandbox.Logger = cfg.Log
	e, said, err := cfg.Sandbox.OpenEnvironment(ctx, file, whole, wire.Configuration{Slots: cfg.Slots, Split: cfg.Split, Options: cfg.Options})
	if err != nil {
		return nil, said, err
	}
	return e, said, nil
}
