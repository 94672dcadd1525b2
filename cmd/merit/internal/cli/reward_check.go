package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/merit-rl/merit/cmd/merit/internal/guest"
	"github.com/merit-rl/merit/cmd/merit/internal/scoring"
	"github.com/merit-rl/merit/cmd/merit/internal/ui"
	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/sandbox"
	"github.com/merit-rl/merit/sandbox/fuel"
	"github.com/merit-rl/merit/sdk/conformance"
)

type rewardCheckOptions struct {
	host        *Host
	data        string
	conformance bool
	sandbox     sandbox.Config
}

func newRewardCheckCmd(h *Host) *cobra.Command {
	o := &rewardCheckOptions{host: h}
	cmd := &cobra.Command{
		Use:   "check [FOLDER|MODULE]",
		Short: "Check everything that the sandbox asks of a reward",
		Long: `Check holds a module to the gate and the calling convention, scores the fixtures
forwards, backwards and without the compiler, and demands the same results and
the same fuel each time. It reports every problem at once.

With --conformance it checks an SDK instead of a reward: the module must be the
conformance guest, which reports every field that it can read.`,
		Example: "  merit reward check examples/gsm8k\n  merit reward check reward.wasm --data trajectories.jsonl",
		Args:    folderOrModule,
		RunE:    o.run,
	}
	f := cmd.Flags()
	f.StringVar(&o.data, "data", "", "trajectories to try (default: the reward's fixtures)")
	f.BoolVar(&o.conformance, "conformance", false, "check the SDK behind a conformance guest")
	sandboxFlags(f, &o.sandbox)
	return cmd
}

func (o *rewardCheckOptions) run(cmd *cobra.Command, args []string) error {
	ctx := cmd.Context()
	module, err := findModule(target(args))
	if err != nil {
		return err
	}
	if err := o.static(module, target(args)); err != nil {
		return err
	}
	if o.conformance {
		return o.conform(ctx, module)
	}
	files, err := readFixtures(folderOf(target(args)), o.data, true)
	if err != nil {
		return err
	}
	runs, err := o.runs(ctx, module, files)
	if err != nil {
		return err
	}
	if err := o.report(files, runs); err != nil {
		return err
	}
	return o.compare(files, runs)
}

// conform runs every case of sdk/conformance.
func (o *rewardCheckOptions) conform(ctx context.Context, module string) error {
	j, err := o.host.loadReward(ctx, o.sandbox, module)
	if err != nil {
		return err
	}
	defer j.close(ctx)
	var problems []error
	for _, f := range conformance.Run(ctx, j.parts[0].Scorer) {
		problems = append(problems, &fault.Error{
			Boundary: fault.Sandbox, Kind: fault.Invalid, Where: module, What: f.String(),
			Hint: "sdk/conformance/README.md says what the guest reports for each part",
		})
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err := errors.Join(problems...); err != nil {
		return err
	}
	_, err = fmt.Fprintln(o.host.Stdout, "conforms: every field is read and every kind of result is written")
	return err
}

// static holds the module to the gate and to its exports.
func (o *rewardCheckOptions) static(module, folder string) error {
	wasm, err := os.ReadFile(module)
	if err != nil {
		return cannotRead(err)
	}
	info, err := fuel.Inspect(wasm, fuel.DefaultLimits())
	var refused *fuel.Refused
	if errors.As(err, &refused) {
		return refusals(module, refused)
	} else if err != nil {
		return err
	}
	if abiOf(info) == "command" {
		return nil
	}
	lang, _, err := guest.Detect(folder)
	how := guest.AnyLanguage
	if err == nil {
		how = lang.Export
	}
	var problems []error
	for _, e := range wantedExports(info) {
		problems = append(problems, &fault.Error{
			Boundary: fault.Sandbox, Kind: fault.Refused, Where: module, What: e.problem, Hint: how(e.name),
		})
	}
	return errors.Join(problems...)
}

type wantedExport struct{ name, problem string }

// wantedExports lists what the flat ABI asks for and info lacks.
func wantedExports(info *fuel.Info) (missing []wantedExport) {
	need := func(name, signature string) bool {
		e, ok := info.Export(name)
		if ok && (signature == "" || e.Func.String() == signature) {
			return true
		}
		problem := fmt.Sprintf("does not export %s %s", name, signature)
		if ok {
			problem = fmt.Sprintf("exports %s as %s, expected %s", name, e.Func, signature)
		}
		missing = append(missing, wantedExport{name, problem})
		return false
	}
	need("memory", "")
	need("merit_abi_1", "() -> ()")
	need("merit_alloc", "(i32) -> i32")
	if _, group := info.Export("merit_evaluate_group"); group {
		need("merit_evaluate_group", "(i32, i32) -> i32")
		return missing
	}
	need("merit_evaluate", "(i32, i32) -> i32")
	return missing
}

// checkRun is one way to score the fixtures.
type checkRun struct {
	name        string
	evaluations [][]reward.Evaluation // by file and trajectory
}

// runs scores the fixtures in every way that must make no difference.
func (o *rewardCheckOptions) runs(ctx context.Context, module string, files []fixtureFile) ([]checkRun, error) {
	var all []checkRun
	for _, way := range []struct {
		name        string
		interpreter bool
		reverse     []bool
	}{{"compiled", false, []bool{false, true}}, {"interpreted", true, []bool{false}}} {
		cfg := o.sandbox
		cfg.Interpreter = way.interpreter
		j, err := o.host.loadReward(ctx, cfg, module)
		if err != nil {
			return nil, err
		}
		defer j.close(ctx)
		for _, reverse := range way.reverse {
			run := checkRun{name: way.name}
			if reverse {
				run.name += ", in reverse order"
			}
			for _, f := range files {
				evaluations, err := f.evaluate(ctx, j, reverse)
				if err != nil {
					return nil, err
				}
				run.evaluations = append(run.evaluations, evaluations)
			}
			all = append(all, run)
		}
	}
	return all, nil
}

// compare demands scores and equal results in all runs.
func (o *rewardCheckOptions) compare(files []fixtureFile, runs []checkRun) error {
	var problems []error
	for k, f := range files {
		for i, t := range f.trajectories {
			first := runs[0].evaluations[k][i]
			if first.Outcome != reward.Scored && first.Outcome != reward.Invalid {
				problems = append(problems, &fault.Error{
					Boundary: fault.Sandbox, Kind: fault.Unscored, Where: f.path + ": " + t.ID, What: fmt.Sprintf("%s: %s", first.Outcome, first.Reason),
					Hint: "merit reward run --id " + t.ID + " shows it in full",
				})
			}
			want := comparable(scoring.NewResult(t, first))
			for _, r := range runs[1:] {
				if got := comparable(scoring.NewResult(t, r.evaluations[k][i])); got != want {
					problems = append(problems, &fault.Error{
						Boundary: fault.Sandbox, Kind: fault.Invalid, Where: f.path + ": " + t.ID,
						What: fmt.Sprintf("differs between runs (%s)\n%s\n%s", r.name, want, got),
						Hint: "a reward must be a function of its input: no clock, no random numbers, no state from earlier calls",
					})
				}
			}
		}
	}
	return errors.Join(problems...)
}

// comparable is a result with its fuel as text.
func comparable(r scoring.Result) string {
	line, err := json.Marshal(r)
	if err != nil {
		return err.Error()
	}
	return string(line)
}

func (o *rewardCheckOptions) report(files []fixtureFile, runs []checkRun) error {
	t := ui.Table{Head: []string{"fixture", "outcome", "score", "fuel", "of the limit"}}
	for k, f := range files {
		for i, trajectory := range f.trajectories {
			e := runs[0].evaluations[k][i]
			score := ""
			if e.Outcome == reward.Scored {
				score = fmt.Sprintf("%g", e.Result.Score)
			}
			t.Add(ui.Clean(trajectory.ID), string(e.Outcome), score, fmt.Sprint(e.Fuel), fmt.Sprintf("%.3f %%", 100*float64(e.Fuel)/float64(o.sandbox.Fuel)))
		}
	}
	return t.Write(o.host.Stdout)
}
