package rewardcmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/core/scoring"
	"github.com/merit-rl/merit/internal/cli/console"
	"github.com/merit-rl/merit/internal/cli/terminal"
	"github.com/merit-rl/merit/sandbox"
	"github.com/merit-rl/merit/sdk/conformance"
)

type checkOptions struct {
	host *console.Host
	Data string `flag:"data" usage:"trajectories to try (default: the reward's fixtures)"`
	Script
	Conformance bool `flag:"conformance" usage:"check an SDK by its conformance guest"`
	Strict      bool `flag:"strict" usage:"treat it as an error if the reward tried to load something that the sandbox does not have (exit code 5)"`
	Sandbox     sandbox.Config
}

func newCheckCmd(h *console.Host) *cobra.Command {
	o := &checkOptions{host: h}
	return console.Verb(&cobra.Command{
		Use:   "check [FOLDER|MODULE]",
		Short: "Check that a reward meets all requirements of the sandbox",
		Long: `Check verifies that a module passes the checks at load time and follows the calling
convention. It scores the fixtures twice, in reverse order and without the compiler,
and requires the same results and the same fuel each time. If a script takes lists,
check also scores all fixtures in one call, and requires the same scores unless the
script declares that it compares trajectories (batch). A parameter that no column of
the fixtures fills is an error. Without fixtures, a reward that requires columns needs
--data. Check reports every problem at once. With --isolation shared, it shows whether
a reward keeps state between calls. Finally, it prints the digest of the checked
reward; the result applies only to this digest. Check warns if the reward tried to
load something that is not available, such as a missing package; with --strict this
is an error.

With --conformance it checks an SDK instead of a reward: the module must be the
conformance guest, which reports every field that it can read.`,
		Example: "  merit reward check exactness\n  merit reward check reward.wasm --data trajectories.jsonl",
		Args:    folderOrModule,
		RunE:    o.run,
	}, o)
}

func (o *checkOptions) run(cmd *cobra.Command, args []string) error {
	ctx := cmd.Context()
	n, err := o.named(args)
	if err != nil {
		return err
	}
	folder := n.Path
	if n.Path, err = findModule(folder); err != nil {
		return err
	}
	script := sandbox.IsScript(n.Path)
	if !script {
		if err := staticProblems(n.Path, folder, o.Sandbox.Limits); err != nil {
			return err
		}
	}
	if o.Conformance {
		return o.conform(ctx, n)
	}
	files, err := readFixtures(folderOf(folder), o.Data, true)
	if err != nil {
		return err
	}
	notRead(o.host, files...)
	runs, err := o.runs(ctx, n, files, script)
	if err != nil {
		return err
	}
	if err := lacking(files, runs[0].reward, target(args)); err != nil {
		return errors.Join(Missed(o.host, o.Strict, runs[0].reward), err)
	}
	if err := o.report(files, runs); err != nil {
		return err
	}
	alone, err := o.alone(ctx, n, files, runs[0])
	if err != nil {
		return err
	}
	return errors.Join(Missed(o.host, o.Strict, runs[0].reward), o.compare(inFull(cmd, target(args)), files, runs), alone, unfilled(files, runs[0].reward))
}

// lacking returns an error if a reward needs columns that Merit's own conversations do not
// have, so that every evaluation of them would fail. It returns nil for fixtures.
func lacking(files []fixtureFile, info reward.Info, path string) error {
	if files[0].path != builtin || info.Entry == nil {
		return nil
	}
	var needs []string
	for _, p := range info.Entry.Asks {
		if p.Need == reward.Required && !p.OrTruth {
			needs = append(needs, p.Name)
		}
	}
	if len(needs) == 0 {
		return nil
	}
	return &fault.Error{
		Boundary: fault.Data, Kind: fault.Missing, Where: path,
		What: fmt.Sprintf("nothing was checked: %s needs a column for each of %s, which Merit's own conversations do not have", info.Entry.Function, strings.Join(needs, ", ")),
		Hint: "check it with your own rows: merit reward check " + console.Quote(path) + " --data rows.jsonl",
	}
}

// unfilled returns an error for the parameters of a reward that no column of its fixtures
// fills.
func unfilled(files []fixtureFile, info reward.Info) error {
	doubts := scoring.NewDoubts(reward.NewPool([]reward.Weighted{{Scorer: described{info: info}}}, 1))
	n := 0
	for _, f := range files {
		if f.path == builtin { // these have no columns
			return nil
		}
		for _, t := range f.trajectories {
			doubts.Note(n, t, new(scoring.Result))
			n++
		}
	}
	var problems []error
	for _, w := range doubts.Warnings() {
		if w.Kind == scoring.UnfilledParameter {
			problems = append(problems, &fault.Error{Boundary: fault.Data, Kind: fault.Missing, Where: files[0].path, What: w.What, Hint: w.Hint + "; or set it with --with"})
		}
	}
	return errors.Join(problems...)
}

// described is a scorer that only has an Info.
type described struct {
	reward.Scorer
	info reward.Info
}

// Info implements reward.Scorer.
func (d described) Info() reward.Info { return d.info }

// alone checks a function that takes lists but is called with one trajectory: it scores the
// fixtures of each file in one call and requires the same scores. A reward that compares
// trajectories fails this: alone, each trajectory gets the same score.
func (o *checkOptions) alone(ctx context.Context, n Named, files []fixtureFile, first checkRun) (differs, err error) {
	e := first.reward.Entry
	if e == nil || !e.Lists || first.reward.Group {
		return nil, nil
	}
	n.Batch = fmt.Sprint(reward.MaxBatch)
	together, err := o.passes(ctx, o.Sandbox, n, files, pass{"together", false})
	if err != nil {
		return nil, err
	}
	for k, f := range files {
		for i, t := range f.trajectories {
			one, all := first.evaluations[k][i], together[0].evaluations[k][i]
			if one.Outcome != reward.Scored || all.Outcome != reward.Scored || one.Result.Score == all.Result.Score {
				continue
			}
			return &fault.Error{
				Boundary: fault.Sandbox, Kind: fault.Invalid, Where: f.path + ": " + t.ID,
				What: fmt.Sprintf("%s compares trajectories: the score is %g alone, and %g in one call with the others", e.Function, one.Result.Score, all.Result.Score),
				Hint: `declare in the reward what it gets in one call: __merit__ = {"batch": "group"}, or a number of trajectories instead of "group"; or use --batch`,
			}, nil
		}
	}
	return nil, nil
}

// conform runs all cases of sdk/conformance.
func (o *checkOptions) conform(ctx context.Context, n Named) error {
	j, err := Load(ctx, o.host, o.Sandbox, n)
	if err != nil {
		return err
	}
	defer j.Close()
	var problems []error
	for _, f := range conformance.Run(ctx, j.Parts[0].Scorer) {
		problems = append(problems, &fault.Error{
			Boundary: fault.Sandbox, Kind: fault.Invalid, Where: n.Path, What: f.String(),
			Hint: "see sdk/conformance/README.md for what the guest reports for each part",
		})
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err := errors.Join(problems...); err != nil {
		return err
	}
	_, err = fmt.Fprintln(o.host.Stdout, "conforms: the guest reads every field and writes every kind of result")
	return err
}

// checkRun is one way to score the fixtures.
type checkRun struct {
	name        string
	reward      reward.Info
	evaluations [][]reward.Evaluation // [files][trajectories]
}

// runs scores the fixtures in all the ways that must give the same results. It does not run a
// script without the compiler, because the interpreter would take minutes.
func (o *checkOptions) runs(ctx context.Context, n Named, files []fixtureFile, script bool) ([]checkRun, error) {
	all, err := o.passes(ctx, o.Sandbox, n, files, pass{"for the first time", false}, pass{"again", false}, pass{"in reverse order", true})
	if err != nil || script {
		return all, err
	}
	cfg := o.Sandbox
	cfg.Interpreter = true
	more, err := o.passes(ctx, cfg, n, files, pass{"without the compiler", false})
	if err == nil && more[0].reward.Digest != all[0].reward.Digest {
		return nil, &fault.Error{
			Boundary: fault.Sandbox, Kind: fault.Invalid, Where: n.Path, What: "the reward was replaced during the check: " + all[0].reward.Digest + " became " + more[0].reward.Digest,
			Hint: "check it again while no program writes to it",
		}
	}
	return append(all, more...), err
}

type pass struct {
	name    string
	reverse bool
}

// passes scores the fixtures several times with one loaded reward.
func (o *checkOptions) passes(ctx context.Context, cfg sandbox.Config, n Named, files []fixtureFile, passes ...pass) ([]checkRun, error) {
	j, err := Load(ctx, o.host, cfg, n)
	if err != nil {
		return nil, err
	}
	defer j.Close()
	var runs []checkRun
	for _, p := range passes {
		run := checkRun{name: p.name, reward: j.Modules[0].Info()}
		for _, f := range files {
			evaluations, err := f.evaluate(ctx, j, p.reverse)
			if err != nil {
				return nil, err
			}
			run.evaluations = append(run.evaluations, evaluations)
		}
		runs = append(runs, run)
	}
	return runs, nil
}

// inFull returns a function that returns the command that shows one of the trajectories of
// cmd.
func inFull(cmd *cobra.Command, reward string) func(id string) string {
	given := console.Given(cmd, "data", "with", "fuel", "start-fuel", "memory", "timeout", "isolation", "interpreter")
	return func(id string) string {
		words := []string{"merit reward run", console.Quote(reward), given, "--id", console.Quote(id)}
		return strings.Join(slices.DeleteFunc(words, func(w string) bool { return w == "" }), " ")
	}
}

// compare requires scores and equal results in all runs.
func (o *checkOptions) compare(inFull func(id string) string, files []fixtureFile, runs []checkRun) error {
	var problems []error
	for k, f := range files {
		for i, t := range f.trajectories {
			first := runs[0].evaluations[k][i]
			if first.Outcome != reward.Scored && first.Outcome != reward.Invalid {
				problems = append(problems, &fault.Error{
					Boundary: fault.Sandbox, Kind: fault.Unscored, Where: f.path + ": " + t.ID, What: fmt.Sprintf("%s: %s", first.Outcome, first.Reason),
					Hint: inFull(t.ID) + " shows the full result" + f.others(),
				})
			}
			problems = append(problems, o.differs(f, t, k, i, runs))
		}
	}
	return errors.Join(problems...)
}

// others suggests other rows than Merit's own conversations.
func (f fixtureFile) others() string {
	if f.path != builtin {
		return ""
	}
	return "; if the reward needs other rows than Merit's own conversations, use --data"
}

// differs returns an error for the first run in which a fixture has a different result than in
// the first run. The fuel of a reused instance may vary.
func (o *checkOptions) differs(f fixtureFile, t *rl.Trajectory, file, i int, runs []checkRun) error {
	hint := "make the reward a function of its input: no clock, no random numbers, no state from earlier calls"
	result := func(r checkRun) string {
		e := r.evaluations[file][i]
		if o.Sandbox.Isolation == sandbox.Shared {
			e.Fuel, hint = 0, "use isolation snapshot (the default), or remove the state that the reward keeps between calls"
		}
		return comparison(scoring.NewResult(t, e))
	}
	want := result(runs[0])
	for _, r := range runs[1:] {
		if got := result(r); got != want {
			return &fault.Error{
				Boundary: fault.Sandbox, Kind: fault.Invalid, Where: f.path + ": " + t.ID,
				What: fmt.Sprintf("differs when scored %s\n%s\n%s", r.name, want, got), Hint: hint,
			}
		}
	}
	return nil
}

// comparison formats a result with its fuel.
func comparison(r scoring.Result) string {
	line, err := json.Marshal(r)
	if err != nil {
		return err.Error()
	}
	return string(line)
}

func (o *checkOptions) report(files []fixtureFile, runs []checkRun) error {
	t := terminal.Table{Head: []string{"fixture", "outcome", "score", "fuel", "of the limit"}}
	for k, f := range files {
		for i, trajectory := range f.trajectories {
			e := runs[0].evaluations[k][i]
			score := ""
			if e.Outcome == reward.Scored {
				score = fmt.Sprintf("%g", e.Result.Score)
			}
			t.Add(terminal.Clean(trajectory.ID), string(e.Outcome), score, fmt.Sprint(e.Fuel), fmt.Sprintf("%.3f %%", 100*float64(e.Fuel)/float64(o.Sandbox.Fuel)))
		}
	}
	if err := t.Write(o.host.Stdout); err != nil {
		return err
	}
	info := runs[0].reward
	entry := ""
	if info.Entry != nil {
		entry = terminal.Clean(info.Entry.String()) + "  "
	}
	_, err := fmt.Fprintln(o.host.Stdout, "\nchecked", terminal.Clean(info.Name), entry+info.Digest)
	return err
}
