package console

import (
	"errors"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/base/built"
	"github.com/merit-rl/merit/internal/cli/terminal"
	"github.com/merit-rl/merit/internal/engine"
	"github.com/merit-rl/merit/internal/rewards/guest"
	"github.com/merit-rl/merit/sandbox/interpreter"
)

// advice lists which command or flag helps with which fault. The packages below the
// command report what is wrong and what to do, but do not know any command.
var advice = []struct {
	boundary fault.Boundary
	kind     fault.Kind // "" means any
	where    *regexp.Regexp
	command  string
	purpose  string
}{
	{fault.Config, "", regexp.MustCompile(`rewards\[\d+\]\.module$`), "merit reward build", "builds one"},
	{fault.Sandbox, fault.Missing, regexp.MustCompile(`^[^@]*$`), "merit reward build", "builds one"}, // @ is in the name of an npm package,
	{fault.Config, fault.Missing, regexp.MustCompile(`environment\.plugin$`), "merit plugin list", "lists the available plug-ins"},
	{fault.Plugin, fault.Missing, regexp.MustCompile(`\btinker$`), "merit engine install skyrl", "installs it"},
	{fault.Plugin, fault.Missing, nil, "merit plugin list", "lists the available plug-ins"},
	{fault.Plugin, fault.Crashed, nil, "--log-level debug", "logs everything that it prints"},
	{fault.Learner, fault.Numeric, nil, "merit view RUN", "shows the preceding steps"},
	{fault.Sandbox, fault.Invalid, regexp.MustCompile(`^sandbox\.cache_dir$`), "MERIT_CACHE=FOLDER", "sets it for one command, MERIT_CACHE=off disables it"},
}

// advise adds helpful commands to the hints of err.
func advise(err error) {
	for _, problem := range terminal.Flatten(err) {
		f := fault.As(problem)
		if f == nil || strings.HasPrefix(f.Hint, "did you mean") || strings.Contains(f.Hint, " install ") {
			continue // the hint is already better than this advice
		}
		if missing := new(interpreter.Missing); errors.As(problem, &missing) {
			f.Hint = installing(missing.Interpreter)
			continue
		}
		if missing := new(engine.Missing); errors.As(problem, &missing) {
			f.Hint += ": merit engine install " + missing.Engine.Name
			continue
		}
		if outdated := new(built.Outdated); errors.As(problem, &outdated) {
			f.Hint += ": " + buildCommand(outdated)
			continue
		}
		if incomplete := guest.Incomplete(""); errors.As(problem, &incomplete) {
			continue // its hint says what to install
		}
		for _, a := range advice {
			if a.boundary != f.Boundary || a.kind != "" && a.kind != f.Kind || a.where != nil && !a.where.MatchString(f.Where) {
				continue
			}
			if !strings.Contains(f.Hint, a.command) {
				f.Hint = strings.TrimPrefix(f.Hint+"; "+a.command+" "+a.purpose, "; ")
			}
		}
	}
}

// installing says how to install an interpreter. A release contains Merit's own builds; npm has
// the others.
func installing(i interpreter.Interpreter) string {
	if i.Package != "" {
		return "run: merit " + i.Name + " install"
	}
	name := i.Name
	if i.Language == "" {
		name = "python" // the userland, which belongs to it
	}
	return "run: merit " + name + " install --from FOLDER, which is share/merit/interpreters of a release; in a checkout of Merit, run: make interpreter"
}

// buildCommand returns the command that rebuilds an outdated module.
func buildCommand(o *built.Outdated) string {
	line := "merit reward build " + Quote(o.Folder)
	if filepath.Join(o.Folder, "reward.wasm") != filepath.Clean(o.Module) {
		line += " --out " + Quote(o.Module)
	}
	return line
}
