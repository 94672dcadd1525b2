package runscmd

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/run"
	"github.com/merit-rl/merit/internal/cli/console"
	"github.com/merit-rl/merit/internal/cli/terminal"
	"github.com/merit-rl/merit/internal/data/jsonl"
	"github.com/merit-rl/merit/internal/runs/watch"
)

type watchOptions struct {
	host    *console.Host
	By      string   `flag:"by" usage:"the column of the training step (default: step)"`
	Score   string   `flag:"score" usage:"the column of the score (default: the score that the file stores)"`
	Success string   `flag:"success" usage:"the least score of a success, or a metric or column that is true or at least 1"`
	Watch   []string `flag:"watch" usage:"a metric or column that must not fall while the score rises; a minus sign in front means that lower is better (repeatable)"`
	Window  int      `flag:"window" usage:"iterations that a trend averages over"`
	Map     []string `flag:"map" usage:"NAME=COLUMN,…: take fields, such as prompt and completion, from other columns (repeatable)"`
}

// NewWatchCmd returns the watch command.
func NewWatchCmd(h *console.Host) *cobra.Command {
	o := &watchOptions{host: h, Success: "1", Window: 10}
	return console.Paged(h, console.Verb(&cobra.Command{
		Use:   "watch FILE|FOLDER...",
		Short: "Raise red flags over the rollouts of another trainer",
		Long: `Watch reads the rollouts that a trainer stored, and raises the red flags that merit
train raises in its own runs, with the same thresholds. FILE is any file that merit view
reads: a dump of verl (rollout_data_dir) or TRL (log_completions), trajectories, or other
rows with messages and a score. A FOLDER means the data files in it.

The column step says in which iteration of training an episode was; --by names another
column. Without one, each file is an iteration, in the order of the numbers in the names.
Episodes with the same prompt are a group, unless the file names groups.

Flags that need more than rollouts hold are listed as not watched. The exit code does not
depend on the flags: scripts read "flags" of --json.`,
		Example: `  merit watch rollouts
  merit watch completions --window 5
  merit watch rollouts --success acc --watch -tool_errors --json`,
		Args: watched,
		RunE: o.run,
	}, o))
}

// watched checks the arguments.
func watched(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return console.Usage(cmd, "pass the files in which the trainer stores rollouts, or their folder", "%s needs FILE", cmd.CommandPath())
	}
	for _, path := range args {
		if _, err := os.Stat(filepath.Join(path, run.ManifestFile)); err == nil {
			return &fault.Error{Boundary: fault.CLI, Kind: fault.Invalid, Where: path, What: "is a run of Merit, which has its red flags", Hint: "merit runs lists runs with their flags, and merit ui shows them"}
		}
	}
	return nil
}

func (o *watchOptions) run(cmd *cobra.Command, args []string) error {
	if o.Window < 2 || o.Window > 1000 {
		return console.Usage(cmd, "use 2 to 1000; 10 is that of merit train", "--window %d is not allowed", o.Window)
	}
	for flag, names := range map[string][]string{"success": {o.Success}, "watch": o.Watch} {
		for _, name := range names {
			if strings.TrimPrefix(name, "-") == "" {
				return console.Usage(cmd, "write the name of a metric or column", "--%s %q names nothing", flag, name)
			}
		}
	}
	columns, err := jsonl.ParseColumns(o.Map)
	if err != nil {
		return err
	}
	report, err := watch.Rollouts(cmd.Context(), args, watch.Options{By: o.By, Score: o.Score, Success: o.Success, Watch: o.Watch, Window: o.Window, Columns: columns})
	if err != nil {
		return err
	}
	o.host.Notes(report.NotRead)
	if o.host.Global.JSON {
		return o.host.PrintJSON(report)
	}
	return o.print(o.host.Stdout, report)
}

func (o *watchOptions) print(w io.Writer, r *watch.Report) error {
	steps := fmt.Sprintf("steps %d to %d", r.First, r.Last)
	if r.First == r.Last {
		steps = fmt.Sprintf("step %d", r.Last)
	}
	fmt.Fprintf(w, "%s (%s), %s, %d without a score; %s succeeded in the last iteration\n\n",
		terminal.Count(r.Iterations, "iteration"), steps, terminal.Count(r.Episodes, "episode"), r.Unscored, terminal.Percent(r.Success))
	if len(r.Flags) == 0 {
		fmt.Fprintln(w, "no red flags")
	} else if err := o.flags(w, r.Flags); err != nil {
		return err
	}
	fmt.Fprintln(w, "\nnot watched:")
	for _, gap := range r.NotWatched {
		fmt.Fprintf(w, "  %s: %s\n", strings.Join(gap.Flags, ", "), gap.Why)
	}
	return nil
}

// flags prints a table of the flags, and what to do about each kind.
func (o *watchOptions) flags(w io.Writer, flags []watch.Flag) error {
	table := terminal.Table{Head: []string{"step", "flag", "level", "evidence"}}
	for _, f := range flags {
		table.Add(strconv.Itoa(f.Iteration), f.Name, string(f.Level), f.Evidence)
	}
	if err := table.Write(w); err != nil {
		return err
	}
	last := map[string]watch.Flag{}
	for _, f := range flags {
		last[f.Name] = f
	}
	for _, f := range flags {
		if latest, left := last[f.Name]; left {
			delete(last, f.Name)
			o.advice(w, latest)
		}
	}
	return nil
}

// advice prints what to do about a flag, and how to read the most suspicious episode.
func (o *watchOptions) advice(w io.Writer, f watch.Flag) {
	style := o.host.OutStyle()
	paint := style.Yellow
	if f.Level == run.Alert {
		paint = style.Red
	}
	fmt.Fprintf(w, "\n%s: %s\n", paint(f.Name), f.Advice)
	if len(f.Trajectories) > 0 {
		fmt.Fprintf(w, "  read first: %s\n", terminal.Clean(strings.Join(f.Trajectories, ", ")))
		fmt.Fprintf(w, "  merit view %s --id %s\n", console.Quote(f.First), console.Quote(f.Trajectories[0]))
	}
}
