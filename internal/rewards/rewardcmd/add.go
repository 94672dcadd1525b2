package rewardcmd

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/cli/console"
	"github.com/merit-rl/merit/internal/cli/terminal"
	"github.com/merit-rl/merit/internal/rewards/packages"
	"github.com/merit-rl/merit/sandbox/interpreter"
)

type addOptions struct {
	host           *console.Host
	folder, python string
}

func newAddCmd(h *console.Host) *cobra.Command {
	o := &addOptions{host: h}
	cmd := console.Verb(&cobra.Command{
		Use:   "add [PACKAGE...]",
		Short: "Add packages of Python to a reward",
		Long: "Add packages of Python to a reward in a folder. pip chooses their versions and those of all that\n" +
			"they need. Merit unpacks them into the folder packages beside reward.py, where the reward imports\n" +
			"them from, and writes the versions and digests to requirements.txt. Packages that the interpreter\n" +
			"includes are not copied. Without a PACKAGE, it installs what requirements.txt lists.",
		Example: "  merit reward add sympy networkx\n  merit reward add --reward checker sqlglot==30.30.0",
		Args:    cobra.ArbitraryArgs,
		RunE:    o.run,
	})
	cmd.Flags().StringVar(&o.folder, "reward", ".", "the folder of reward.py")
	cmd.Flags().StringVar(&o.python, "python", "python3", "the Python whose pip chooses and downloads packages")
	return cmd
}

func (o *addOptions) run(cmd *cobra.Command, wanted []string) error {
	if err := o.check(wanted); err != nil {
		return err
	}
	builtIn := map[string]string{}
	for _, e := range interpreter.Python().Includes {
		builtIn[e.Name] = e.Version
	}
	added, err := packages.Add(cmd.Context(), packages.Request{Folder: o.folder, Wanted: wanted, Python: o.python, BuiltIn: builtIn})
	if err != nil {
		return err
	}
	if o.host.Global.JSON {
		return o.host.PrintJSON(struct {
			Packages []packages.Package `json:"packages"`
		}{added})
	}
	t := terminal.Table{Head: []string{"package", "version", "from"}}
	for _, p := range added {
		t.Add(terminal.Clean(p.Name), terminal.Clean(p.Version), p.From)
	}
	return t.Write(o.host.Stdout)
}

// check looks at the folder before anything is downloaded.
func (o *addOptions) check(wanted []string) error {
	if _, err := os.Stat(filepath.Join(o.folder, "reward.py")); err != nil {
		return &fault.Error{
			Boundary: fault.Data, Kind: fault.Missing, Where: o.folder, What: "it has no reward.py", Hint: "name the folder of a reward in Python with --reward, or create one: merit reward new FOLDER --lang python", Err: err,
		}
	}
	if _, err := os.Stat(filepath.Join(o.folder, "requirements.txt")); err != nil && len(wanted) == 0 {
		return &fault.Error{
			Boundary: fault.Data, Kind: fault.Missing, Where: filepath.Join(o.folder, "requirements.txt"), What: "it does not exist, and no package is named", Err: err,
			Hint: fmt.Sprintf("name packages: merit reward add %s", strings.TrimSpace("--reward "+o.folder+" sympy")),
		}
	}
	return nil
}
