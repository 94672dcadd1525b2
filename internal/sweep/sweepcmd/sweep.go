// Package sweepcmd holds the verb sweep: one configuration, many settings, many
// seeds.
package sweepcmd

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/cli/console"
	"github.com/merit-rl/merit/internal/cli/terminal"
	"github.com/merit-rl/merit/internal/rewards/rewardcmd"
	"github.com/merit-rl/merit/internal/sweep"
	"github.com/merit-rl/merit/internal/sweep/sweeppage"
	"github.com/merit-rl/merit/sdk/merit"
)

type options struct {
	host     *console.Host
	study    string
	out      string
	report   string
	set      []string
	parallel int
}

// NewCmd is the verb sweep.
func NewCmd(h *console.Host) *cobra.Command {
	o := &options{host: h}
	cmd := &cobra.Command{
		Use:   "sweep",
		Short: "Train several settings with several seeds, and compare them",
		Long: `Sweep trains every task of a study's file under every setting with every seed, each
into a run directory of its own below --out. A run that is finished is not repeated
and one that was stopped goes on, so the same command may be given again at any
time. It ends with study.json, study.html and a table: the mean success over the
curve (the area under it), success at fixed budgets of environment steps, and each
setting against one of them, seed by seed, with 95 % intervals.

--report trains nothing: it writes a page of Markdown, and its pictures into a
folder of the same name, from what is finished.`,
		Example: "  merit sweep -c examples/study/gigpo.yaml --out runs/study --parallel 2\n  merit sweep -c examples/study/gigpo.yaml --out runs/study --report study.md",
		Args:    console.NoArgs,
		RunE:    o.run,
	}
	f := cmd.Flags()
	f.StringVarP(&o.study, "config", "c", "", "the study's file")
	f.StringVar(&o.out, "out", "", "the study's folder (default runs/<name of the file>)")
	f.StringVar(&o.report, "report", "", "train nothing and write this page (.md) from what is finished")
	f.StringArrayVar(&o.set, "set", nil, "put a value over the configuration of every run: key.path=value (repeatable)")
	f.IntVar(&o.parallel, "parallel", 1, "how many runs are trained at one time; it never changes a result")
	console.Output(cmd, "report")
	console.OutputFolder(cmd, "out", "study.json", "study.html")
	console.Files(cmd, "config", "yaml", "yml")
	return cmd
}

func (o *options) run(cmd *cobra.Command, _ []string) error {
	switch {
	case o.study == "":
		return console.Usage(cmd, "name the study's file with -c; examples/study/gigpo.yaml in Merit's source is one", "a study needs a file")
	case o.parallel < 1:
		return console.Usage(cmd, "use 1 or more", "--parallel %d is less than 1", o.parallel)
	case o.report != "" && filepath.Ext(o.report) != ".md":
		return console.Usage(cmd, "give it the ending .md", "--report %s is no page of Markdown", o.report)
	case o.out == "":
		name := filepath.Base(o.study)
		o.out = filepath.Join("runs", strings.TrimSuffix(name, filepath.Ext(name)))
	}
	study, err := sweep.Load(o.study)
	if err != nil {
		return err
	}
	plan, err := study.Plan(o.set...)
	if err != nil {
		return err
	}
	if o.report == "" {
		if err := o.play(cmd, plan); err != nil {
			return o.advise(err)
		}
	}
	results, err := sweep.Read(study, plan, o.out)
	if err != nil {
		return err
	}
	if o.report != "" {
		if err := sweeppage.Write(o.report, study.Page, results); err != nil {
			return err
		}
		return o.finished(results, o.report)
	}
	html, err := sweeppage.HTML(results)
	if err != nil {
		return err
	}
	if err := sweep.WriteFile(filepath.Join(o.out, sweeppage.HTMLFile), html); err != nil {
		return err
	}
	if err := results.Write(o.out); err != nil {
		return err
	}
	return o.print(results)
}

// play trains what is missing and shows how far it is.
func (o *options) play(cmd *cobra.Command, plan []sweep.Run) error {
	progress := o.host.Progress("sweep", "runs", int64(len(plan)))
	defer progress.Close()
	return sweep.Play(cmd.Context(), plan, sweep.Options{
		Dir: o.out, Parallel: o.parallel,
		Session: func(r sweep.Run) []merit.Option {
			return append(rewardcmd.Options(o.host, r.Config.Sandbox.Limits), merit.WithLogger(o.host.Logger().With("run", r.Name())))
		},
		Progress: func(s sweep.State) {
			var note []string
			for _, r := range s.Running {
				note = append(note, fmt.Sprintf("%s %s %d: %.0f %%", r.Task, r.Setting, r.Seed, 100*r.Share))
			}
			progress.Set(int64(s.Done), strings.Join(note, "  "))
		},
	})
}

// advise gives the command that goes on with a study that was stopped.
func (o *options) advise(err error) error {
	if f := fault.As(err); f != nil && f.Kind == fault.Interrupted {
		f.Hint = fmt.Sprintf("go on with: merit sweep -c %s --out %s", console.Quote(o.study), console.Quote(o.out))
		for _, s := range o.set {
			f.Hint += " --set " + console.Quote(s)
		}
	}
	return err
}

func (o *options) print(r *sweep.Results) error {
	if o.host.Global.JSON {
		return o.host.PrintJSON(r)
	}
	w := o.host.Stdout
	for _, p := range r.Panels {
		for _, b := range p.Tasks {
			fmt.Fprintf(w, "%s, %s (%s)\n", terminal.Clean(p.Title), terminal.Clean(b.Title), strings.ReplaceAll(p.Measure, "_", " "))
			t := terminal.Table{}
			t.Head, t.Rows = sweeppage.Cells(b, p.Measure)
			if err := t.Write(w); err != nil {
				return err
			}
			fmt.Fprintln(w)
		}
	}
	return o.finished(r, filepath.Join(o.out, sweeppage.HTMLFile))
}

// finished says how much of the study a page is made of, and where it is.
func (o *options) finished(r *sweep.Results, page string) error {
	if o.host.Global.JSON {
		return nil
	}
	_, err := fmt.Fprintf(o.host.Stdout, "%d of %d runs are finished\npage: %s\n", r.Planned-len(r.Missing), r.Planned, page)
	return err
}
