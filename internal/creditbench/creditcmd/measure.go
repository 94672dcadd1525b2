// Package creditcmd implements merit advantages measure, which compares the estimators with
// exact advantages.
package creditcmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/cli/console"
	"github.com/merit-rl/merit/internal/cli/terminal"
	"github.com/merit-rl/merit/internal/creditbench"
	"github.com/merit-rl/merit/internal/rewards/rewardcmd"
	"github.com/merit-rl/merit/internal/sweep"
	"github.com/merit-rl/merit/sandbox"
	"github.com/merit-rl/merit/sdk/merit"
)

type options struct {
	host       *console.Host
	Estimators []string `flag:"estimator" usage:"measure this estimator (repeatable; default all)"`
	Files      []string `flag:"file" usage:"also measure the estimator of this file: a Python file with a function advantages(rows), or a .wasm module (repeatable)" files:"py,wasm"`
	Worlds     []string `flag:"world" usage:"measure in this world (repeatable; default all)"`
	Members    []int    `flag:"members" usage:"members of a group (repeatable)"`
	Seeds      int      `flag:"seeds" usage:"random policies, and trainings, of each world"`
	Branches   bool     `flag:"branches" usage:"compare the estimators that compare branches, and gigpo with and without branches"`
	Out        string   `flag:"out" usage:"write a page (.md) with every table" output:"yes"`
	Sandbox    sandbox.Config
}

// NewCmd returns the command.
func NewCmd(h *console.Host) *cobra.Command {
	plan := creditbench.Default()
	o := &options{host: h, Members: plan.Members, Seeds: plan.Seeds}
	return console.Verb(&cobra.Command{
		Use:   "measure",
		Short: "Compare the estimators with exact advantages in small worlds",
		Long: `Measure plays episodes in worlds that are small enough to compute the advantage of every
action exactly. It prints how often each estimator finds the right sign, how its
advantages correlate with the exact ones, their bias and noise, and how fast a policy
learns with them. The same command prints the same numbers.

--file adds an estimator of your own to the tables: a Python file with a function
advantages(rows), or a WebAssembly module. It runs in the sandbox, as rewards do. The
function gets the rows of a batch, as merit advantages reads them, and returns one number
for each row.

--branches compares what branches buy: the estimators that compare branches and GiGPO, in
episodes that branch, with those without branches. Steps of branches count.

Worlds: ` + worlds() + `.`,
		Example: "  merit advantages measure --members 8 --seeds 2\n  merit advantages measure --estimator gigpo --estimator graphgpo --world push --members 4 --seeds 3 --out push.md\n  merit advantages measure --file median.py --estimator gigpo --world fork --members 4 --seeds 2\n  merit advantages measure --branches --world push --members 8 --seeds 2",
		RunE:    o.run,
	}, o)
}

func worlds() string {
	var names []string
	for _, w := range creditbench.Worlds() {
		names = append(names, w.Name)
	}
	return strings.Join(names, ", ")
}

func (o *options) run(cmd *cobra.Command, _ []string) error {
	plan, err := o.plan(cmd)
	if err != nil {
		return err
	}
	programs, closeAll, err := o.programs(cmd.Context())
	if err != nil {
		return err
	}
	defer closeAll()
	plan.Estimators = append(slices.Clone(plan.Estimators), programs...)
	progress := o.host.Progress("measure", "parts", 0)
	defer progress.Close()
	r, err := creditbench.Run(cmd.Context(), plan, func(n, of int) {
		progress.SetTotal(int64(of))
		progress.Set(int64(n), "")
	})
	if err != nil {
		return err
	}
	progress.Close()
	if o.Out != "" {
		var page strings.Builder
		if err := r.WritePage(&page); err != nil {
			return err
		}
		if err := sweep.WriteFile(o.Out, []byte(page.String())); err != nil {
			return err
		}
	}
	return o.print(r)
}

// plan checks the options.
func (o *options) plan(cmd *cobra.Command) (creditbench.Plan, error) {
	plan := creditbench.Default()
	if o.Branches {
		plan = creditbench.Branching()
	}
	plan.Worlds, plan.Members, plan.Seeds = o.Worlds, nil, o.Seeds
	var problems []error
	if o.Seeds < 2 || o.Seeds > 10_000 {
		problems = append(problems, console.Usage(cmd, "use 2 to 10000; 30 is the default", "--seeds %d is not allowed", o.Seeds))
	}
	for _, m := range o.Members {
		if m < 2 || m > 64 {
			problems = append(problems, console.Usage(cmd, "use 2 to 64", "--members %d is not allowed", m))
		}
		if !slices.Contains(plan.Members, m) {
			plan.Members = append(plan.Members, m)
		}
	}
	if o.Branches && (o.Out != "" || len(o.Files) > 0) {
		problems = append(problems, console.Usage(cmd, "leave --out and --file out: the page is about estimators without branches, and programs see none", "--branches does not go with --out or --file"))
	}
	if o.Out != "" && filepath.Ext(o.Out) != ".md" {
		problems = append(problems, console.Usage(cmd, "give it a name that ends in .md", "--out %s is not a Markdown page", o.Out))
	}
	var err error
	plan.Estimators, err = plan.Named(o.Estimators)
	return plan, errors.Join(append(problems, err)...)
}

// programs loads the estimators of --file, in the sandbox.
func (o *options) programs(ctx context.Context) (all []creditbench.Estimator, closeAll func(), err error) {
	var opened []*merit.Rewards
	closeAll = func() {
		for _, r := range opened {
			r.Close()
		}
	}
	var problems []error
	names := map[string]bool{}
	for _, file := range o.Files {
		name := filepath.Base(file)
		r, err := o.load(ctx, file)
		if err == nil && names[name] {
			err = &fault.Error{Boundary: fault.CLI, Kind: fault.Invalid, Where: "--file", What: "two files are called " + name, Hint: "rename one of them"}
		}
		if problems = append(problems, err); r != nil {
			opened = append(opened, r)
			all = append(all, creditbench.Estimator{Name: name, Program: r.Parts[0].Scorer})
		}
		names[name] = true
	}
	if err := errors.Join(problems...); err != nil {
		closeAll()
		return nil, nil, err
	}
	return all, closeAll, nil
}

// load loads an estimator: a module unchanged, and a copy of a Python file with the adapter.
func (o *options) load(ctx context.Context, file string) (*merit.Rewards, error) {
	named := rewardcmd.Named{Path: file}
	switch filepath.Ext(file) {
	case ".wasm":
	case ".py":
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, &fault.Error{Boundary: fault.Data, Kind: fault.Missing, Where: file, What: "cannot be read", Err: err, Hint: "check the path"}
		}
		if !function.Match(text) {
			return nil, &fault.Error{Boundary: fault.Data, Kind: fault.Invalid, Where: file, What: "has no function advantages", Hint: "define advantages(rows), which returns one number for each row"}
		}
		dir, err := os.MkdirTemp("", "merit-estimator-")
		if err != nil {
			return nil, err
		}
		defer os.RemoveAll(dir)
		named.Path, named.Function = filepath.Join(dir, filepath.Base(file)), creditbench.Function
		if err := os.WriteFile(named.Path, append(text, creditbench.Adapter...), 0o600); err != nil {
			return nil, err
		}
	default:
		return nil, &fault.Error{Boundary: fault.CLI, Kind: fault.Invalid, Where: "--file", What: file + " is neither a Python file nor a WebAssembly module", Hint: "name a .py or .wasm file"}
	}
	r, err := rewardcmd.Load(ctx, o.host, o.Sandbox, named)
	if f := fault.As(err); f != nil && named.Path != file { // the copy is gone, and it is not a reward
		f.Where, f.What = file, strings.Replace(f.What, "the reward", "the estimator", 1)
		f.Hint = strings.NewReplacer("correct the reward", "correct the file", "the folder of reward.py; ", "the file itself; ", "a reward has none", "an estimator has none").Replace(f.Hint)
	}
	return r, err
}

// function finds what an estimator defines.
var function = regexp.MustCompile(`(?m)^(?:async )?(?:def +advantages *\(|advantages *=|from .* import .*\badvantages\b)`)

func (o *options) print(r *creditbench.Results) error {
	if o.host.Global.JSON {
		return o.host.PrintJSON(r)
	}
	w := o.host.Stdout
	show := func(title string, head []string, cells [][]string) error {
		fmt.Fprintln(w, title)
		t := terminal.Table{Head: head, Rows: cells}
		defer fmt.Fprintln(w)
		return t.Write(w)
	}
	for _, world := range r.Worlds {
		for _, m := range r.Members {
			head, cells := r.Table(world.Name, m)
			if err := show(fmt.Sprintf("%s: %s (groups of %d)", world.Name, world.Title, m), head, cells); err != nil {
				return err
			}
		}
	}
	head, cells := r.Summary()
	if err := show("success while learning, mean of the worlds", head, cells); err != nil {
		return err
	}
	if o.Out != "" {
		_, err := fmt.Fprintln(w, "page: "+o.Out)
		return err
	}
	return nil
}
