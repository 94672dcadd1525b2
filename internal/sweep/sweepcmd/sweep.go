// Package sweepcmd implements merit sweep, which trains configurations with many settings
// and seeds.
package sweepcmd

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/merit-rl/merit/internal/cli/console"
	"github.com/merit-rl/merit/internal/cli/terminal"
	"github.com/merit-rl/merit/internal/rewards/rewardcmd"
	"github.com/merit-rl/merit/internal/sweep"
	"github.com/merit-rl/merit/internal/sweep/sweeppage"
	"github.com/merit-rl/merit/sdk/merit"
)

type options struct {
	host     *console.Host
	Study    string   `flag:"config,c" usage:"the study file" files:"yaml,yml"`
	Out      string   `flag:"out" usage:"the study's folder (default runs/<name of the file>)" folder:"study.json,study.html"`
	Report   string   `flag:"report" usage:"train nothing; write this page (.md) from the finished runs" output:"yes"`
	Set      []string `flag:"set" usage:"override a value of the configuration of every run: key.path=value (repeatable)"`
	Parallel int      `flag:"parallel" usage:"number of runs to train at the same time; it never changes a result"`
}

// NewCmd returns the sweep command.
func NewCmd(h *console.Host) *cobra.Command {
	o := &options{host: h, Parallel: 1}
	return console.Verb(&cobra.Command{
		Use:   "sweep",
		Short: "Train several settings with several seeds, and compare them",
		Long: `Sweep trains every task of a study file under every setting with every seed, each in its
own run directory below --out. It skips finished runs and resumes stopped ones, so you can
repeat the same command at any time. At the end, it writes study.json and study.html and
prints a table: the mean success over the learning curve (the area under it), success at
fixed budgets of environment steps, and each setting against one of them, seed by seed,
with 95 % intervals.

If the study has a section tune, Sweep first trains every setting with each of its choices,
on seeds that no result uses, and continues with the best.

With --report, it trains nothing. It writes a Markdown page, and its pictures into a folder
of the same name, from the finished runs.`,
		Example: "  merit sweep -c examples/study/gigpo.yaml --out runs/study --parallel 2\n  merit sweep -c examples/study/gigpo.yaml --out runs/study --report study.md",
		RunE:    o.run,
	}, o)
}

func (o *options) run(cmd *cobra.Command, _ []string) error {
	switch {
	case o.Study == "":
		return console.Usage(cmd, "name the study file with -c; Merit's source has an example, examples/study/gigpo.yaml", "the study file is missing")
	case o.Parallel < 1:
		return console.Usage(cmd, "use 1 or more", "--parallel %d is less than 1", o.Parallel)
	case o.Report != "" && filepath.Ext(o.Report) != ".md":
		return console.Usage(cmd, "give it a name that ends in .md", "--report %s is not a Markdown page", o.Report)
	case o.Out == "":
		name := filepath.Base(o.Study)
		o.Out = filepath.Join("runs", strings.TrimSuffix(name, filepath.Ext(name)))
	}
	study, err := sweep.Load(o.Study)
	if err != nil {
		return err
	}
	study, plan, err := o.plan(cmd, study)
	if err != nil {
		return err
	}
	if o.Report == "" {
		if err := o.play(cmd, "sweep", plan); err != nil {
			return console.Resumable(cmd, err)
		}
	}
	results, err := sweep.Read(study, plan, o.Out)
	if err != nil {
		return err
	}
	if o.Report != "" {
		if err := sweeppage.Write(o.Report, study.Page, results); err != nil {
			return err
		}
		return o.finished(results, o.Report)
	}
	html, err := sweeppage.HTML(results)
	if err != nil {
		return err
	}
	if err := sweep.WriteFile(filepath.Join(o.Out, sweeppage.HTMLFile), html); err != nil {
		return err
	}
	if err := results.Write(o.Out); err != nil {
		return err
	}
	return o.print(results)
}

// plan returns the study with its choices and the runs of its results. It trains the runs
// that choose, except for a report.
func (o *options) plan(cmd *cobra.Command, study *sweep.Study) (*sweep.Study, []sweep.Run, error) {
	if _, err := study.Plan(o.Set...); err != nil { // before hours of tuning
		return nil, nil, err
	}
	tuning, err := study.Tuning(o.Set...)
	if err != nil {
		return nil, nil, err
	}
	if len(tuning) > 0 && o.Report == "" {
		if err := o.play(cmd, "tuning", tuning); err != nil {
			return nil, nil, console.Resumable(cmd, err)
		}
	}
	if study, err = study.Choose(tuning, o.Out); err != nil {
		return nil, nil, err
	}
	plan, err := study.Plan(o.Set...)
	return study, plan, err
}

// play trains the unfinished runs of plan and shows the progress.
func (o *options) play(cmd *cobra.Command, what string, plan []sweep.Run) error {
	progress := o.host.Progress(what, "runs", int64(len(plan)))
	defer progress.Close()
	return sweep.Play(cmd.Context(), plan, sweep.Options{
		Dir: o.Out, Parallel: o.Parallel,
		Session: func(r sweep.Run) []merit.Option {
			return append(rewardcmd.Options(o.host, r.Config.Sandbox.Limits), merit.WithLogger(o.host.Logger().With("run", r.Name())))
		},
		Progress: func(s sweep.State) {
			var note []string
			for _, r := range s.Running {
				note = append(note, fmt.Sprintf("%s: %.0f %%", r.Label(), 100*r.Share))
			}
			progress.Set(int64(s.Done), strings.Join(note, "  "))
		},
	})
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
	return o.finished(r, filepath.Join(o.Out, sweeppage.HTMLFile))
}

// finished prints how many runs a page is based on, and its path.
func (o *options) finished(r *sweep.Results, page string) error {
	if o.host.Global.JSON {
		return nil
	}
	_, err := fmt.Fprintf(o.host.Stdout, "%d of %d runs are finished\npage: %s\n", r.Planned-len(r.Missing), r.Planned, page)
	return err
}
