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
	o.flags(cmd)
	return cmd
}

func newRemoveCmd(h *console.Host) *cobra.Command {
	o := &addOptions{host: h}
	cmd := console.Verb(&cobra.Command{
		Use:   "remove PACKAGE...",
		Short: "Remove packages of Python from a reward",
		Long: "Remove packages that merit reward add has added to a reward in a folder, together with what only\n" +
			"they need, from the folder packages and from requirements.txt. pip unpacks the others again, in the\n" +
			"versions that they have. A package that another one needs stays, and is an error.",
		Example: "  merit reward remove networkx\n  merit reward remove --reward checker sympy",
		Args:    cobra.MinimumNArgs(1),
		RunE:    o.remove,
	})
	o.flags(cmd)
	return cmd
}

func (o *addOptions) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&o.folder, "reward", ".", "the folder of reward.py")
	cmd.Flags().StringVar(&o.python, "python", "python3", "the Python whose pip chooses and downloads packages")
}

func (o *addOptions) remove(cmd *cobra.Command, names []string) error {
	if err := o.check(names); err != nil {
		return err
	}
	left, gone, err := packages.Remove(cmd.Context(), o.request(names))
	if err != nil {
		return err
	}
	if o.host.Global.JSON {
		return o.host.PrintJSON(struct {
			Removed  []string           `json:"removed"`
			Packages []packages.Package `json:"packages"`
		}{gone, left})
	}
	t := terminal.Table{Head: []string{"package", "version", "from"}}
	for _, name := range gone {
		t.Add(terminal.Clean(name), "", "removed")
	}
	return o.table(&t, left)
}

func (o *addOptions) run(cmd *cobra.Command, wanted []string) error {
	if err := o.check(wanted); err != nil {
		return err
	}
	added, err := packages.Add(cmd.Context(), o.request(wanted))
	if err != nil {
		return err
	}
	if o.host.Global.JSON {
		return o.host.PrintJSON(struct {
			Packages []packages.Package `json:"packages"`
		}{added})
	}
	return o.table(&terminal.Table{Head: []string{"package", "version", "from"}}, added)
}

func (o *addOptions) request(named []string) packages.Request {
	builtIn := map[string]string{}
	for _, e := range interpreter.Python().Includes {
		builtIn[e.Name] = e.Version
	}
	return packages.Request{Folder: o.folder, Wanted: named, Python: o.python, BuiltIn: builtIn}
}

func (o *addOptions) table(t *terminal.Table, all []packages.Package) error {
	for _, p := range all {
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
