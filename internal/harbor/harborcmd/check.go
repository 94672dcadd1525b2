package harborcmd

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/cli/console"
	"github.com/merit-rl/merit/internal/cli/terminal"
	"github.com/merit-rl/merit/internal/harbor/image"
	"github.com/merit-rl/merit/internal/harbor/task"
	"github.com/merit-rl/merit/internal/harbor/trial"
)

type checkOptions struct {
	host     *console.Host
	Static   bool    `flag:"static" usage:"read the tasks and run nothing"`
	Most     float64 `flag:"most" usage:"the reward that the solution must get"`
	Least    float64 `flag:"least" usage:"the reward that an agent must get that does nothing"`
	Reward   string  `flag:"reward" usage:"which reward counts, of a verifier that gives several"`
	Parallel int     `flag:"parallel" usage:"how many tasks to check at once (default: the number of CPUs)"`
}

func newCheckCmd(h *console.Host) *cobra.Command {
	o := &checkOptions{host: h, Most: 1}
	return console.Verb(&cobra.Command{
		Use:   "check DIR…",
		Short: "Find out what Harbor tasks need, and whether they can be solved and verified",
		Long: `Check reads the task in each folder, or the tasks in it. It lists what a task needs that
machines without a container lack: another base image, programs, packages of Python,
compilers, the network, GPUs, services. Software that a Dockerfile installs and that nothing
of the task uses does not count.

If a task needs nothing else, check builds its environment, runs its solution (the agent
oracle) and an agent that does nothing (nop), each twice, and has the verifier judge them.
The solution must get the highest reward, nop the lowest, and everything must be the same
both times. A verifier that writes no reward, or something else than a number, is a
problem: it is not worth 0.`,
		Example: `  merit task check examples/harbor/log-report
  merit task check --static examples/harbor
  merit task check --json examples/harbor`,
		Args: cobra.MinimumNArgs(1),
		RunE: o.run,
	}, o)
}

// summary is the document of --json.
type summary struct {
	Tasks   []*trial.Report `json:"tasks"`
	Checked int             `json:"checked"`
	Run     int             `json:"run"`
	Passed  int             `json:"passed"`
	// Reasons counts the tasks that do not run, by the kinds of what they need.
	Reasons map[image.Kind]int `json:"reasons"`
}

func (o *checkOptions) run(cmd *cobra.Command, args []string) error {
	dirs, err := task.Find(args...)
	if err != nil {
		return err
	}
	reports, err := o.check(cmd.Context(), dirs)
	if err != nil {
		return err
	}
	s := summary{Tasks: reports, Checked: len(reports), Reasons: map[image.Kind]int{}}
	for _, r := range reports {
		s.add(r)
	}
	if o.host.Global.JSON {
		err = o.host.PrintJSON(s)
	} else {
		err = o.print(s)
	}
	if err == nil && s.Passed < s.Checked {
		return &fault.Error{
			Boundary: fault.Data, Kind: fault.Refused, Where: strings.Join(args, ", "),
			What: fmt.Sprintf("%d of %s do not run here or have problems", s.Checked-s.Passed, terminal.Count(s.Checked, "task")), Hint: "see the list above",
		}
	}
	return err
}

// check checks all tasks. Reports are in the order of dirs.
func (o *checkOptions) check(ctx context.Context, dirs []string) ([]*trial.Report, error) {
	m, err := open(ctx, o.host)
	if err != nil {
		return nil, err
	}
	defer m.Close()
	v, err := image.Take(ctx, m)
	if err != nil {
		return nil, err
	}
	c := &trial.Checker{Maker: m, Inventory: v, Static: o.Static, Most: o.Most, Least: o.Least, Reward: o.Reward}
	reports := make([]*trial.Report, len(dirs))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(cmp.Or(max(o.Parallel, 0), runtime.GOMAXPROCS(0)))
	for i, dir := range dirs {
		g.Go(func() (err error) {
			reports[i], err = c.Check(ctx, dir)
			return err
		})
	}
	return reports, g.Wait()
}

func (s *summary) add(r *trial.Report) {
	if r.Runs {
		s.Run++
	}
	if r.Passed() {
		s.Passed++
	}
	seen := map[image.Kind]bool{}
	for _, n := range r.Needs {
		if !seen[n.Kind] {
			s.Reasons[n.Kind]++
		}
		seen[n.Kind] = true
	}
}

// few is up to how many tasks are listed with everything that was found.
const few = 20

func (o *checkOptions) print(s summary) error {
	table := terminal.Table{Head: []string{"task", "runs", "oracle", "nop", "same", "start"}}
	for _, r := range s.Tasks {
		runs, same, start := "no", "–", "–"
		if r.Runs {
			runs = "yes"
		}
		if r.Nop != nil || r.Oracle != nil {
			same, start = map[bool]string{true: "yes", false: "no"}[r.Same], fmt.Sprintf("%.1f ms", r.Start)
		}
		if len(s.Tasks) <= few || r.Runs && !r.Passed() {
			table.Add(r.Task, runs, shown(r.Oracle), shown(r.Nop), same, start)
		}
	}
	if len(table.Rows) > 0 {
		if err := table.Write(o.host.Stdout); err != nil {
			return err
		}
	}
	o.details(s)
	fmt.Fprintf(o.host.Stdout, "%d of %s run without a container (%s)\n", s.Run, terminal.Count(s.Checked, "task"), terminal.Percent(float64(s.Run)/float64(max(s.Checked, 1))))
	return o.reasons(s)
}

// details lists what each task needs, unless there are many.
func (o *checkOptions) details(s summary) {
	for _, r := range s.Tasks {
		line := func(what, text string) {
			fmt.Fprintf(o.host.Stdout, "%s: %s: %s\n", terminal.Printable(r.Task), what, terminal.Printable(text))
		}
		for _, p := range r.Problems {
			line("problem", p)
		}
		if len(s.Tasks) > few {
			continue
		}
		for _, n := range r.Needs {
			line("needs", n.String())
		}
		for _, n := range r.Unused {
			line("not installed, and not used", fmt.Sprintf("%s %s (%s)", n.Kind, n.Name, n.Where))
		}
		for _, n := range r.Notes {
			line("note", n)
		}
	}
}

// reasons prints why tasks do not run. A task counts for each kind of what it needs.
func (o *checkOptions) reasons(s summary) error {
	if len(s.Reasons) == 0 || s.Checked <= 1 {
		return nil
	}
	table := terminal.Table{Head: []string{"the others need", "tasks", "share"}}
	for _, k := range image.Kinds {
		if n := s.Reasons[k]; n > 0 {
			table.Add(string(k), strconv.Itoa(n), terminal.Percent(float64(n)/float64(s.Checked)))
		}
	}
	return table.Write(o.host.Stdout)
}

func number(x float64) string { return strconv.FormatFloat(x, 'g', 6, 64) }
