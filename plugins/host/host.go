// Package host runs environments that live in plug-in processes: launch,
// handshake, supervision, restart. What it returns is a plain env.Env.
//
// A plug-in gets no environment variables, no stdin and no terminal of the
// host; it cannot outlive the host, hang it or flood it; when it dies, the
// error says with which status and with which last words.
//
// It imports core/env, core/fault, plugins/proto, plugins/wire, go-plugin and
// gRPC, and is the only package besides sdk/plugin that knows go-plugin.
package host

import (
	"context"

	"github.com/merit-rl/merit/core/env"
)

// Open starts the plug-in of cfg and configures it. The context bounds the
// start, not the life of the environment. Errors are *fault.Error: of boundary
// Plugin with kind Missing, Crashed, Timeout, Protocol or Refused, or those of
// boundary Config that the plug-in has against its options.
func Open(ctx context.Context, cfg Config) (env.Env, error) {
	return NewLauncher(cfg).Open(ctx, cfg.Split)
}
