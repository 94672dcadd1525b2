// Package harborcmd implements merit task, which checks and runs tasks in Harbor's format.
package harborcmd

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/merit-rl/merit/internal/base/box"
	"github.com/merit-rl/merit/internal/base/prefix"
	"github.com/merit-rl/merit/internal/cli/console"
	"github.com/merit-rl/merit/sandbox"
)

// NewCmd returns the task command.
func NewCmd(h *console.Host) *cobra.Command {
	return console.Group("task", "Check and run tasks in Harbor's format, without a container", newCheckCmd(h), newRunCmd(h))
}

// open loads the machines on which tasks run.
func open(ctx context.Context, h *console.Host) (box.Maker, error) {
	cfg := sandbox.DefaultConfig()
	cfg.CacheDir, cfg.Logger = prefix.Cache(h.Env), h.Logger()
	return cfg.OpenBoxes(ctx)
}

// shown is a reward as tables have it.
func shown(reward *float64) string {
	if reward == nil {
		return "–"
	}
	return number(*reward)
}
