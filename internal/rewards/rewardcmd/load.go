package rewardcmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/internal/cli/console"
	"github.com/merit-rl/merit/internal/cli/terminal"
	"github.com/merit-rl/merit/sandbox"
	"github.com/merit-rl/merit/sdk/merit"
)

// Options are what every session of the command is opened with.
func Options(h *console.Host, limits sandbox.Limits) []merit.Option {
	return []merit.Option{
		merit.WithLogger(h.Logger()), merit.WithVariables(h.Env),
		merit.WithRefusal(func(module string, err error) error { return Teach(module, limits, err) }),
	}
}

// Load loads the one reward that is named.
func Load(ctx context.Context, h *console.Host, cfg sandbox.Config, n Named, more ...merit.Option) (_ *merit.Rewards, err error) {
	if n.Path, err = findModule(n.Path); err != nil {
		return nil, err
	}
	return merit.LoadRewards(ctx, cfg, []merit.Reward{n.Part()}, append(Options(h, cfg.Limits), more...)...)
}

// loadToTry loads the reward that is named and reads what it is tried on, as
// readFixtures has it.
func loadToTry(ctx context.Context, h *console.Host, cfg sandbox.Config, n Named, data string, builtin bool) ([]fixtureFile, *merit.Rewards, error) {
	files, err := readFixtures(folderOf(n.Path), data, builtin)
	if err != nil {
		return nil, nil, err
	}
	j, err := Load(ctx, h, cfg, n)
	return files, j, err
}

// Missed warns of what rewards were refused while they were loaded; with strict
// it is an error.
func Missed(h *console.Host, strict bool, infos ...reward.Info) error {
	var all []error
	for _, info := range infos {
		switch err := info.Missed(); {
		case err == nil:
		case strict:
			all = append(all, err)
		default:
			terminal.Warning(h.Stderr, h.ErrStyle(), err)
		}
	}
	return errors.Join(all...)
}

// Teach turns the refusal of a module into everything that is wrong with it and
// what its author can do about each.
func Teach(module string, limits sandbox.Limits, err error) error {
	if sandbox.IsScript(module) {
		switch f := fault.As(err); {
		case strings.Contains(err.Error(), "sandbox.start_fuel"):
			f.Hint += " (--start-fuel)"
			if isPython(module) {
				f.Hint += "; from bytecode Python starts on a fifth of the fuel: python3.12 -m compileall -q --invalidation-mode unchecked-hash FOLDER"
			}
		case strings.Contains(err.Error(), "ModuleNotFoundError"), strings.Contains(err.Error(), "ImportError: cannot import name"):
			f.Hint = "a reward has the standard library and the pure-Python packages that lie in the folder beside reward.py; C extensions, such as numpy, do not run in the sandbox"
		}
		return err
	}
	if problems := staticProblems(module, filepath.Dir(module), limits); problems != nil {
		return problems
	}
	return err
}

// AddEntry adds which function of a script scores, in which shape and batches.
func AddEntry(t *terminal.Table, info reward.Info) {
	if e := info.Entry; e != nil {
		t.Add("function", terminal.Clean(e.String()))
		if e.Batch > 0 {
			t.Add("batch", fmt.Sprint(e.Batch))
		} else if info.Group {
			t.Add("batch", "group")
		}
	}
}

// writeEntry writes what AddEntry adds as a table of its own with an empty line
// behind it, or nothing.
func writeEntry(w io.Writer, info reward.Info) error {
	if info.Entry == nil {
		return nil
	}
	var t terminal.Table
	AddEntry(&t, info)
	if err := t.Write(w); err != nil {
		return err
	}
	_, err := fmt.Fprintln(w)
	return err
}

// isPython reports whether a script, or the one in a folder, is in Python.
func isPython(module string) bool {
	_, err := os.Stat(filepath.Join(module, "reward.py"))
	return err == nil || filepath.Ext(module) == ".py"
}
