// Package exit defines the exit codes of the merit command and maps errors to them.
package exit

import (
	"context"
	"errors"
	"io/fs"
	"syscall"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/base/durable"
)

// Code is one exit code. The numbers are part of Merit's public interface and
// never change their meaning.
type Code struct {
	Number  int
	Name    string
	Meaning string
}

// The codes.
var (
	OK          = Code{0, "ok", "the command succeeded"}
	Internal    = Code{1, "internal", "a bug in Merit; please report it"}
	Usage       = Code{2, "usage", "an unknown command, flag or argument"}
	Config      = Code{3, "config", "a configuration file or setting is wrong, or names a file that is missing"}
	Data        = Code{4, "data", "an input file (trajectories, rows, levels) is missing, truncated or wrong"}
	Reward      = Code{5, "reward", "a module of a reward or an environment was refused or failed its checks"}
	Plugin      = Code{6, "plugin", "a plug-in is missing, speaks another protocol, crashed or did not answer"}
	Learner     = Code{7, "learner", "training produced a number that is not finite, or cannot learn from its data"}
	Storage     = Code{8, "storage", "a disk is full, a file cannot be written, or a checkpoint is damaged"}
	Unscored    = Code{9, "unscored", "the results are complete, but some evaluations have no score"}
	Model       = Code{10, "model", "a language model or judge API is missing, refused, failed or reached its limit"}
	Registry    = Code{11, "registry", "a registry cannot be reached or refused the request, or the artifact is damaged or is not a reward"}
	Differs     = Code{12, "differs", "merit reward diff found a difference, merit verify found a byte that does not match, or an environment did not repeat an episode"}
	Fleet       = Code{13, "fleet", "a queue or worker on another machine cannot be reached, refused the request or failed"}
	Interrupted = Code{130, "interrupted", "stopped by Ctrl-C or SIGTERM; everything that was written is usable"}
)

// Table lists every code in ascending order.
func Table() []Code {
	return []Code{OK, Internal, Usage, Config, Data, Reward, Plugin, Learner, Storage, Unscored, Model, Registry, Differs, Fleet, Interrupted}
}

// kinds take precedence over boundaries, because they mean the same at every boundary.
var kinds = map[fault.Kind]Code{
	fault.Interrupted: Interrupted,
	fault.Unscored:    Unscored,
	fault.Differs:     Differs,
	fault.Internal:    Internal,
}

// boundaries give the code of every other kind: what a user must check depends on where the
// error happened, not on its kind.
var boundaries = map[fault.Boundary]Code{
	fault.CLI:     Usage,
	fault.Config:  Config,
	fault.Data:    Data,
	fault.Sandbox: Reward,
	fault.Plugin:  Plugin,
	fault.Learner: Learner,
	fault.Storage: Storage,
	fault.Model:   Model,
	fault.Server:  Data,

	fault.Registry: Registry,
	fault.Fleet:    Fleet,
}

// Of returns the code of err: OK for nil, the code of the kind or boundary of the outermost
// fault in its tree, or the code that fits an error of the operating system.
func Of(err error) Code {
	if err == nil {
		return OK
	}
	if f := fault.As(err); f != nil {
		if c, ok := kinds[f.Kind]; ok {
			return c
		}
		if c, ok := boundaries[f.Boundary]; ok {
			return c
		}
		return Internal
	}
	switch {
	case errors.Is(err, context.Canceled):
		return Interrupted
	case durable.Full(err), errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return Storage
	case errors.Is(err, fs.ErrNotExist):
		return Data
	}
	return Internal
}
