package auditcmd

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/merit-rl/merit/internal/cli/console"
	"github.com/merit-rl/merit/internal/host/disk"
	"github.com/merit-rl/merit/sandbox"
)

// what is the kind of a target.
type what int

// The kinds of targets.
const (
	reward what = iota
	plugin      // the name or path of an environment
	server      // the URL of an OpenEnv server
	folder      // a folder with an openenv.yaml
	harbor      // a folder with a task.toml
)

// plays matches the Python of an environment.
var plays = regexp.MustCompile(`(?m)^\s*(from|import)\s+merit_plugin\b`)

// steps matches the Python of an environment that is only a class.
var steps = regexp.MustCompile(`(?s)\n[ \t]+def reset\(self.*\n[ \t]+def step\(self`)

// kind returns what the target is.
func (o *auditOptions) kind(cmd *cobra.Command, target string) (what, error) {
	file := strings.Split(target, ".py:")[0]
	switch {
	case o.As != "" && o.As != "reward" && o.As != "environment":
		return 0, console.Usage(cmd, "use --as reward or --as environment", "--as %q is not a kind of target", o.As)
	case strings.Contains(target, "://"):
		return server, nil
	case exists(filepath.Join(target, "openenv.yaml")):
		return folder, nil
	case exists(filepath.Join(target, "task.toml")):
		return harbor, nil
	case o.As == "reward":
		return reward, nil
	case o.As == "environment", strings.HasPrefix(target, disk.Sandbox), strings.HasPrefix(target, disk.BuiltIn):
		return plugin, nil
	case !exists(target) && !exists(file) && !exists(file+".py"):
		return plugin, nil // a name; if there is none, finding it says so
	case exists(filepath.Join(target, disk.ManifestName)):
		return plugin, nil
	case strings.HasSuffix(target, ".wasm"):
		return module(target), nil
	}
	if text, err := os.ReadFile(target); err == nil && strings.HasSuffix(target, ".py") && (plays.Match(text) || steps.Match(text)) {
		return plugin, nil
	} else if ext := filepath.Ext(target); err == nil && ext != ".py" && ext != ".js" {
		return plugin, nil // a program
	}
	return reward, nil
}

// module tells modules of environments from those of rewards by their exports.
func module(path string) what {
	x, err := sandbox.Inspect(path, sandbox.DefaultConfig().Limits)
	if err != nil {
		return reward
	}
	for _, e := range x.Exports {
		if strings.Contains(e.Name, "exchange") {
			return plugin
		}
	}
	return reward
}
