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
	"github.com/merit-rl/merit/internal/rewards/guest"
	"github.com/merit-rl/merit/sandbox"
	"github.com/merit-rl/merit/sandbox/interpreter"
	"github.com/merit-rl/merit/sdk/merit"
)

// Options returns the options of every session of the command.
func Options(h *console.Host, limits sandbox.Limits) []merit.Option {
	return []merit.Option{
		merit.WithLogger(h.Logger()), merit.WithVariables(h.Env),
		merit.WithRefusal(func(module string, err error) error { return Teach(module, limits, err) }),
	}
}

// Load loads the named reward.
func Load(ctx context.Context, h *console.Host, cfg sandbox.Config, n Named, more ...merit.Option) (_ *merit.Rewards, err error) {
	if err := n.find(); err != nil {
		return nil, err
	}
	return merit.LoadRewards(ctx, cfg, []merit.Reward{n.Part()}, append(Options(h, cfg.Limits), more...)...)
}

// loadToTry loads the named reward and reads the trajectories to try it on, see readFixtures.
func loadToTry(ctx context.Context, h *console.Host, cfg sandbox.Config, n Named, data string, builtin bool) ([]fixtureFile, *merit.Rewards, error) {
	files, err := readFixtures(folderOf(n.Path), data, builtin)
	if err != nil {
		return nil, nil, err
	}
	notRead(h, files...)
	j, err := Load(ctx, h, cfg, n)
	return files, j, err
}

// Missed warns of things that rewards tried to load and did not get; with strict it returns an
// error.
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

// Teach replaces the error of a rejected module by all problems of the module, each with a
// hint for its author.
func Teach(module string, limits sandbox.Limits, err error) error {
	if sandbox.IsScript(module) {
		switch f := fault.As(err); {
		case strings.Contains(err.Error(), "sandbox.start_fuel"):
			f.Hint += " (--start-fuel)"
			if isPython(module) {
				f.Hint += "; precompile it to start with a fifth of the fuel: python" + interpreter.Python().Version + " -m compileall -q --invalidation-mode unchecked-hash FOLDER"
			}
		case strings.Contains(err.Error(), "ModuleNotFoundError"), strings.Contains(err.Error(), "ImportError: cannot import name"):
			f.Hint = importable(err.Error())
		}
		return err
	}
	if problems := staticProblems(module, filepath.Dir(module), limits); problems != nil {
		return problems
	}
	return err
}

// importable says what a reward in Python can import instead of what it did not find.
func importable(problem string) string {
	i := interpreter.Python()
	for _, e := range i.Builds()[0].Includes {
		if i.Lacks() != "" && strings.Contains(problem, "No module named '"+e.Name) {
			return fmt.Sprintf("%s of npm lacks %s; in a checkout of Merit, make interpreter builds and installs %s, which has it", i.Title, e.Name, i.Builds()[0].Title)
		}
	}
	return "import the standard library, the packages that merit version lists for python, or pure-Python packages in the folder of reward.py; other native code does not run in the sandbox"
}

// AddEntry adds the function of a script that scores, with its shape and batch.
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

// writeEntry writes the rows of AddEntry as a table followed by an empty line, or nothing.
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

// staticProblems returns every problem of the module that can be found without running it,
// with a hint for the language of the module or else of the folder source.
func staticProblems(module, source string, limits sandbox.Limits) error {
	x, err := sandbox.Inspect(module, limits)
	if err != nil {
		return err
	}
	how := guest.AnyLanguage
	if lang, ok := guest.Made(x); ok {
		how = lang.Export
	} else if lang, _, err := guest.Detect(source); err == nil && lang.Script == "" {
		how = lang.Export
	}
	for i, p := range x.Problems {
		if p.Export != "" {
			x.Problems[i].Hint = how(p.Export)
		}
	}
	return x.Err()
}
