// Package enginecmd implements merit engine, which installs and runs the servers of language
// models.
package enginecmd

import (
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/cli/console"
	"github.com/merit-rl/merit/internal/cli/terminal"
	"github.com/merit-rl/merit/internal/engine"
)

// NewCmd returns the engine command with its subcommands.
func NewCmd(h *console.Host) *cobra.Command {
	return console.GroupOf(&cobra.Command{
		Use:   "engine",
		Short: "Install and run a language model server on this machine",
		Long: `Engine installs and runs the server for a language-model policy. skyrl samples from a
model and trains it (Tinker API). llama.cpp samples from a quantized model (OpenAI API).
Both compute on the CPUs of this machine.`,
	}, newInstallCmd(h), newUpCmd(h))
}

func names() []string {
	var list []string
	for _, e := range engine.All() {
		list = append(list, e.Name)
	}
	return list
}

// place holds the flag for the folder of engines.
type place struct {
	Dir string `flag:"dir" usage:"where engines and models are kept (default: engines in $MERIT_HOME, or in the user's cache)"`
}

// folder returns the folder that the flag names, or the default one.
func (p place) folder(h *console.Host) (string, error) {
	dir := p.Dir
	if dir == "" {
		dir = engine.Folder(h.Env)
	}
	if dir == "" {
		return "", &fault.Error{Boundary: fault.CLI, Kind: fault.Missing, What: "no folder for engines is set", Hint: "set MERIT_HOME to a folder, or give --dir"}
	}
	return filepath.Abs(dir)
}

// steps returns a function that prints progress to stderr.
func steps(h *console.Host) func(string) {
	return func(step string) {
		if !h.Global.Quiet {
			fmt.Fprintln(h.Stderr, terminal.Clean(step))
		}
	}
}
