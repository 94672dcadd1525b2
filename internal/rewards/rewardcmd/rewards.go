// Package rewardcmd implements the commands of merit reward, one per file, and loads rewards
// for other commands.
package rewardcmd

import (
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/cli/console"
	"github.com/merit-rl/merit/internal/rewards/guest"
	"github.com/merit-rl/merit/sandbox"
)

// NewCmd returns the reward command with its subcommands and those in more.
func NewCmd(h *console.Host, more ...*cobra.Command) *cobra.Command {
	verbs := []*cobra.Command{newNewCmd(h), newImportCmd(h), newAddCmd(h), newRemoveCmd(h), newBuildCmd(h), newCheckCmd(h), newRunCmd(h), newTestCmd(h), newBenchCmd(h), newInspectCmd(h)}
	return console.Group("reward", "Create, build, test and publish rewards", append(verbs, more...)...)
}

// folderOrModule allows at most one argument; the default is the current folder.
func folderOrModule(cmd *cobra.Command, args []string) error {
	if len(args) > 1 {
		return console.Usage(cmd, "", "%s takes one folder or module, got %d arguments", cmd.CommandPath(), len(args))
	}
	return nil
}

func target(args []string) string {
	if len(args) == 0 {
		return "."
	}
	return args[0]
}

// findModule returns the reward that path names: a module, a script, or, for a folder, its
// reward.wasm. A folder with a script is a reward as a whole.
func findModule(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", console.CannotRead(err)
	}
	if lang, ok := guest.SourceOf(path); ok && !info.IsDir() {
		return "", &fault.Error{
			Boundary: fault.Sandbox, Kind: fault.Refused, Where: path, What: "is the source of a reward in " + lang + ", which must be built",
			Hint: "build it and name the folder: merit reward build " + filepath.Dir(path),
		}
	}
	if !info.IsDir() || sandbox.IsScript(path) {
		return path, nil
	}
	module := filepath.Join(path, "reward.wasm")
	if _, err := os.Stat(module); err == nil {
		return module, nil
	}
	hint := "build it: merit reward build " + path
	if _, _, err := guest.Detect(path); err != nil {
		hint = "name a module, a reward.py, or the folder of a reward"
	}
	return "", &fault.Error{Boundary: fault.Data, Kind: fault.Missing, Where: path, What: "contains no reward.wasm", Hint: hint}
}

// folderOf returns the folder of a reward, which contains its fixtures.
func folderOf(path string) string {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return path
	}
	return filepath.Dir(path)
}
