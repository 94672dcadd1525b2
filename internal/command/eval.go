package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/core/scoring"
	"github.com/merit-rl/merit/core/train"
	"github.com/merit-rl/merit/internal/base/attempts"
	"github.com/merit-rl/merit/internal/cli/console"
	"github.com/merit-rl/merit/internal/cli/scores"
	"github.com/merit-rl/merit/internal/cli/terminal"
	"github.com/merit-rl/merit/internal/data/jsonl"
	"github.com/merit-rl/merit/internal/fleet"
	"github.com/merit-rl/merit/internal/fleet/fleetcmd"
	"github.com/merit-rl/merit/internal/rewards/rewardcmd"
	"github.com/merit-rl/merit/sandbox"
	"github.com/merit-rl/merit/sdk/merit"
)

type evalOptions struct {
	host   *console.Host
	Reward string `flag:"reward" usage:"the reward: a .wasm module, a .py or .js file, or the folder of a reward; of a script with several, file.py:function"`
	rewardcmd.Script
	Otherwise string   `flag:"otherwise" usage:"the reward that scores the trajectories for which --reward reports that it has no score; a failure of --reward stays one"`
	Config    string   `flag:"config,c" usage:"configuration with the rewards, instead of --reward: for several rewards, judges, rubrics, questions to a language model or sandbox settings" files:"yaml,yml"`
	Data      string   `flag:"data" usage:"trajectories to score; - is stdin"`
	Out       string   `flag:"out" usage:"where to write results, compressed if it ends in .zst or .gz, as Parquet if in .parquet; - is stdout; none if omitted" output:"yes"`
	Columns   []string `flag:"map" usage:"NAME=COLUMN,…: take fields, such as ground_truth, from other columns (repeatable)"`
	SkipBad   bool     `flag:"skip-bad" usage:"omit lines that cannot be used"`
	Strict    bool     `flag:"strict" usage:"refuse a reward that was loaded without something that the sandbox does not have (exit code 5)"`
	Resume    bool     `flag:"resume" usage:"resume a stopped evaluation that writes to --out, or start it"`
	Retry     []string `flag:"retry" usage:"score again only those results of --results that failed for these causes: infrastructure, reward, limit, row" words:"infrastructure,reward,limit,row" split:"yes"`
	Results   string   `flag:"results" usage:"the results of an earlier evaluation of the same data, for --retry" files:"jsonl,zst,gz"`
	PassAt    []int    `flag:"pass-at" usage:"for several completions per prompt: estimate pass@k and pass^k for these k, such as 1,4,8"`
	Success   float64  `flag:"success-score" usage:"score above which a completion succeeds, for --pass-at (default: train.success_score of --config, or 0.5)"`
	Parallel  int      `flag:"parallel" usage:"number of concurrent evaluations; 0 means one per CPU"`
	Sandbox   sandbox.Config
	fleet     fleetcmd.Options
	overview  scores.Overview // filled if no results are written
	attempts  scores.Attempts
	retry     *retry // nil without --retry
}

func newEvalCmd(h *console.Host) *cobra.Command {
	o := &evalOptions{host: h}
	cmd := console.Verb(&cobra.Command{
		Use:   "eval",
		Short: "Score the trajectories of a file with a reward",
		Long: `Eval scores every trajectory of a file. The file has one JSON object with messages per
line, or the rows of Parquet, CSV or TSV. All formats but Parquet may be compressed
(.zst or .gz); - means stdin. Columns that Merit does not know reach the reward as
metadata, in Python as keyword arguments.

With --out, eval writes one result per line, in the order of the input: id, outcome, score
(null unless scored), step_outputs, metrics, reason, fuel. The bytes do not depend on the
parallelism. Without --out, it shows a histogram of the scores, the five rows with the
lowest scores, and the first ten rows without a score.

With --config, eval scores with all rewards of a configuration together, as training
does: modules, judges and rubrics. The score is the weighted sum, and each part's own
score is a metric.

--map takes a field from another column, or from a path into a column. Fields are
messages, ground_truth, id and others. It can also build the messages from prompt and
completion, each a text or a list of messages.

If the file has several completions per prompt, --pass-at estimates how likely at least one
of k completions succeeds (pass@k), and all k of them (pass^k): unbiased, with intervals over
prompts. A completion succeeds if its score is above --success-score. Rows with the same
group are attempts at one task, or else rows with the same prompt and ground truth;
--map group=COLUMN takes the group from a column.

Eval writes the results file atomically, and replaces an existing file only with
--force. If eval is stopped, it keeps the finished results in a file next to it (.part),
and --resume continues from there.

With --retry infrastructure and --results, eval scores again only what failed in an earlier
evaluation for reasons that were neither the answer's nor the reward's: a timeout, or a
judge that did not answer. The other lines stay byte for byte. Members of a group are
scored again together.

With --fleet, workers (merit fleet worker) score shards of 64 trajectories or of whole
groups. The keys of judges come from each worker's environment. A fleet is worthwhile if
scoring a trajectory takes longer than sending it, as with judges or heavy Python.

The exit code is 9 if a trajectory has no score. If Merit refuses the module, it writes
nothing. If lines are unusable, eval lists them, writes nothing and exits with 4. With
--skip-bad, it omits, counts and lists them, and they do not change the exit code.`,
		Example: "  merit eval --reward reward.wasm --data trajectories.jsonl --out results.jsonl\n" +
			"  merit eval --reward reward.py --data answers.parquet --map messages=conversations,ground_truth=answer --out results.parquet\n" +
			"  merit eval --reward reward.py --data samples.jsonl --pass-at 1,4\n" +
			"  merit eval --reward reward.py --data trajectories.jsonl --retry infrastructure --results results.jsonl --out again.jsonl\n" +
			"  merit eval --reward reward.py --data trajectories.jsonl --out results.jsonl --fleet embedded --workers 2",
		RunE: o.run,
	}, o)
	o.fleet.Flags(cmd, "score")
	return cmd
}

func (o *evalOptions) run(cmd *cobra.Command, _ []string) error {
	named := []string{"reward", "data"}
	if o.Config != "" {
		named = named[1:]
	}
	if err := errors.Join(console.Required(cmd, named...), o.fleet.Check(cmd)); err != nil {
		return err
	}
	if o.Config != "" && (o.Reward != "" || o.With != "" || o.Batch != "" || o.Answers != "" || o.Otherwise != "") {
		return console.Usage(cmd, "give one of the two", "--config and --reward both name a reward")
	}
	if o.Resume && o.Retry != nil {
		return console.Usage(cmd, "give one of the two", "--resume finishes an evaluation, and --retry begins one")
	}
	if o.Resume && (o.Out == "" || o.Out == "-") {
		return console.Usage(cmd, "name the file of the results, such as --out results.jsonl", "--resume continues the file of --out")
	}
	var err error
	if o.PassAt, err = scores.PassAt(cmd, o.PassAt); err != nil {
		return err
	}
	if o.retry, err = newRetry(cmd, o.Retry, o.Results, o.Out); err != nil {
		return err
	}
	columns, err := jsonl.ParseColumns(o.Columns)
	if err != nil {
		return asFlags(err)
	}
	progress := new(evalProgress)
	ctx := cmd.Context()
	o.Sandbox.Workers = o.Parallel
	judges, cfg, err := o.load(ctx, progress)
	if err != nil {
		return err
	}
	defer judges.Close()
	if o.Strict {
		if err := rewardcmd.Missed(o.host, true, infos(judges)...); err != nil {
			return err
		}
	}
	scorer, err := o.fleet.Scorer(ctx, o.host, judges, cfg)
	if err != nil {
		return err
	}
	progress.Progress = o.host.Progress("eval", "evaluations", -1)
	defer progress.Close()
	began := o.host.Now()
	options := merit.EvaluateOptions{
		Data: o.Data, Out: o.Out, Parallel: o.Parallel, Columns: columns, SkipBad: o.SkipBad, Resume: o.Resume,
		Warn: func(err error) {
			progress.Close()
			if f := fault.As(err); f == nil || !strings.Contains(f.Hint, "--with") { // a parameter has its own flags
				err = withFlag(err, "--map ground_truth=COLUMN")
			}
			terminal.Warning(o.host.Stderr, o.host.ErrStyle(), err)
		},
		Stdin: o.host.Stdin, Stdout: o.host.Stdout,
	}
	if !cmd.Flags().Changed("success-score") {
		o.Success = cfg.Train.SuccessScore
	}
	options.Each = o.each()
	if scorer != nil {
		options.Evaluator, options.Chunk = scorer, fleet.ScoreChunk
	}
	summary, err := o.evaluate(ctx, judges, options)
	elapsed := o.host.Now().Sub(began)
	progress.Close()
	left := scorer.Close(o.host)
	if err != nil {
		return errors.Join(o.stopped(cmd, err), left)
	}
	lacking := o.attempts.Lacking(o.PassAt)
	if err := errors.Join(o.report(summary, judges, elapsed), left, lacking); err != nil {
		return err
	}
	return o.unscored(cmd, summary)
}

// evaluate scores the data, or with --retry what failed of it.
func (o *evalOptions) evaluate(ctx context.Context, rewards *merit.Rewards, options merit.EvaluateOptions) (*scoring.Summary, error) {
	if o.retry != nil {
		return o.retry.evaluate(ctx, rewards, options)
	}
	return rewards.Evaluate(ctx, options)
}

// each returns what receives every result, or nil.
func (o *evalOptions) each() func(int, *rl.Trajectory, *scoring.Result) {
	overview := o.Out == "" && !o.host.Global.JSON
	if !overview && o.PassAt == nil {
		return nil
	}
	return func(line int, t *rl.Trajectory, r *scoring.Result) {
		if overview {
			o.overview.Note(line, t, r)
		}
		if o.PassAt != nil {
			o.attempts.Note(t, r, o.Success)
		}
	}
}

// load opens the named reward, or the reward of a configuration, and returns it with
// its configuration.
func (o *evalOptions) load(ctx context.Context, progress train.Reporter) (*merit.Rewards, *merit.Config, error) {
	if o.Config == "" {
		named, err := rewardcmd.Name(o.Reward, o.With)
		if err != nil {
			return nil, nil, err
		}
		named.Batch, named.Answers = o.Batch, o.Answers
		if o.Otherwise != "" {
			next, err := rewardcmd.Name(o.Otherwise, "")
			if err != nil {
				return nil, nil, err
			}
			named.Otherwise = &next
		}
		cfg, err := named.Config(o.Sandbox)
		if err != nil {
			return nil, nil, err
		}
		r, err := rewardcmd.Load(ctx, o.host, o.Sandbox, named, merit.WithProgress(progress))
		return r, cfg, asOtherwise(err)
	}
	cfg, err := merit.LoadPartial(o.Config)
	if err != nil {
		return nil, nil, err
	}
	if len(cfg.Rewards) == 0 {
		return nil, nil, cfg.Places.Explain("", &fault.Error{
			Boundary: fault.Config, Kind: fault.Missing, Where: "rewards", What: "there is no reward", Hint: "add one: rewards: [{module: reward.wasm}]",
		})
	}
	cfg.Sandbox.Workers = o.Parallel
	r, err := merit.LoadRewards(ctx, cfg.Sandbox, cfg.Rewards, append(rewardcmd.Options(o.host, cfg.Sandbox.Limits), merit.WithProgress(progress))...)
	return r, cfg, cfg.Places.Explain("", err)
}

// asOtherwise replaces the key of the reward that is asked second by its flag.
func asOtherwise(err error) error {
	for _, e := range fault.Leaves(err) {
		if f := fault.As(e); f != nil && f.Boundary == fault.Config && f.Where == "rewards[0].otherwise" {
			f.Where = "--otherwise"
		}
	}
	return err
}

// evalProgress shows the progress of a pass.
type evalProgress struct {
	train.Quiet
	*terminal.Progress
}

// Collecting shows how many trajectories are done, out of approximately how many.
func (p *evalProgress) Collecting(_ string, done, total int) {
	p.SetTotal(int64(total))
	p.Set(int64(done), "")
}

// stopped adds to the error of a pass which flags help, and how to resume from the
// results that it kept.
func (o *evalOptions) stopped(cmd *cobra.Command, err error) error {
	err = withMap(err)
	if bad := new(jsonl.BadError); errors.As(err, &bad) && !o.SkipBad {
		err = withFlag(err, "--skip-bad omits these")
	}
	kept := new(scoring.Unfinished)
	if !errors.As(err, &kept) {
		return err
	}
	results := "the finished results"
	if kept.Results > 0 {
		results = fmt.Sprintf("the first %d results", kept.Results)
	}
	again := "resume with: " + console.CommandLine(cmd, "resume")
	if why := console.Explain(cmd.Context(), kept.Err); errors.Is(why, fault.Of("", fault.Interrupted)) {
		return &fault.Error{
			Boundary: fault.CLI, Kind: fault.Interrupted, What: fmt.Sprintf("interrupted; %s are kept in %s", results, kept.Path), Hint: again,
		}
	}
	if errors.Is(err, fault.Of(fault.Storage, fault.Refused)) { // an earlier pass kept results
		return withFlag(err, again)
	}
	return errors.Join(err, &fault.Error{Boundary: fault.Storage, Kind: fault.Invalid, Where: kept.Path, What: "keeps " + results, Hint: again})
}

// withMap adds to an error the flag that builds messages from other columns.
func withMap(err error) error {
	if none := new(jsonl.Unmapped); errors.As(err, &none) && none.Map != "" {
		none.Err.Hint = "build messages from your columns: --map " + console.Quote(none.Map)
	}
	return err
}

// withFlag adds a helpful flag to the hint of err.
func withFlag(err error, flag string) error {
	if f := fault.As(err); f != nil {
		f.Hint += "; " + flag
	}
	return err
}

// asFlags replaces names of settings in a package's error by names of flags.
func asFlags(err error) error {
	for _, e := range terminal.Flatten(err) {
		if f := fault.As(e); f != nil {
			f.Boundary, f.Where = fault.CLI, "--"+f.Where
		}
	}
	return err
}

// unscored returns the error of a pass in which some trajectories have no score.
func (o *evalOptions) unscored(cmd *cobra.Command, s *scoring.Summary) error {
	err := s.Unscored()
	if o.Reward == "" || o.Otherwise != "" || o.Data == "-" || len(o.Columns) > 0 {
		return err // merit reward run can read neither these rewards nor these trajectories
	}
	given := console.Given(cmd, "reward", "data", "with", "answers", "fuel", "start-fuel", "memory", "timeout", "isolation", "interpreter")
	given = strings.Replace(given, "--reward "+console.Quote(o.Reward), console.Quote(o.Reward), 1)
	return withFlag(err, "merit reward run "+given+" --id "+console.Quote(s.FirstUnscored)+" shows the first in full")
}

// evalReport is the summary with figures that depend on the wall clock.
type evalReport struct {
	*scoring.Summary
	Reward    reward.Info             `json:"reward"`
	Rewards   []reward.Info           `json:"rewards,omitempty"` // if there are several
	Asked     map[string]reward.Asked `json:"asked,omitempty"`
	Seconds   float64                 `json:"seconds"`
	PerSecond float64                 `json:"evaluations_per_second"`
	Pass      []attempts.Rate         `json:"pass,omitempty"`    // pass@k and pass^k
	Retried   []reward.Count          `json:"retried,omitempty"` // how what was scored again ended
}

// infos returns the descriptions of all rewards.
func infos(r *merit.Rewards) (list []reward.Info) {
	for _, p := range r.Parts {
		list = append(list, p.Scorer.Info())
	}
	return list
}

func (o *evalOptions) report(s *scoring.Summary, rewards *merit.Rewards, elapsed time.Duration) error {
	all := infos(rewards)
	r := evalReport{Summary: s, Reward: all[0], Seconds: elapsed.Seconds(), Asked: rewards.JudgeTotals(), Pass: o.attempts.Rates(o.PassAt)}
	if len(all) > 1 {
		r.Rewards = all
	}
	if o.retry != nil {
		r.Retried = o.retry.ended
	}
	r.PerSecond = float64(s.Trajectories-s.Kept) / max(r.Seconds, 1e-9)
	w := io.Writer(o.host.Stdout)
	if o.Out == "-" {
		w = o.host.Stderr
	} else if o.host.Global.JSON {
		return o.host.PrintJSON(r)
	}
	var t terminal.Table
	for i, info := range all {
		o.describe(&t, rewards.Parts[i], info, len(all) > 1)
	}
	t.Add("trajectories", strconv.Itoa(s.Trajectories))
	if s.Kept > 0 {
		t.Add("kept from before", strconv.Itoa(s.Kept))
	}
	if o.retry != nil {
		t.Add("scored again", o.retry.String())
	}
	if s.Skipped.Count > 0 {
		t.Add("skipped "+cmp.Or(s.Skipped.Unit, "line")+"s", strconv.Itoa(s.Skipped.Count))
	}
	if s.WithoutGroundTruth > 0 && s.WithoutGroundTruth < s.Trajectories {
		t.Add("without ground truth", strconv.Itoa(s.WithoutGroundTruth))
	}
	for _, c := range s.Outcomes {
		t.Add(string(c.Outcome), fmt.Sprintf("%d  (%.1f %%)", c.N, 100*float64(c.N)/float64(s.Trajectories)))
	}
	for _, d := range s.DecidedBy {
		t.Add("scored by "+terminal.Clean(d.Reward), strconv.Itoa(d.N))
	}
	if s.Mean != nil {
		t.Add("mean score", fmt.Sprintf("%.4f  (min %.4g, max %.4g)", *s.Mean, *s.Min, *s.Max))
	}
	if len(r.Pass) > 0 {
		t.Add("success", fmt.Sprintf("a score above %g", o.Success))
	}
	for _, p := range r.Pass {
		t.Add(p.Name, scores.Pass(p))
	}
	if s.MaxFuel > 0 {
		t.Add("fuel", fmt.Sprintf("%.0f mean, %d most", s.MeanFuel, s.MaxFuel))
	}
	for _, w := range s.Warnings {
		t.Add("warning", terminal.Clean(w.What+"; "+w.Hint))
	}
	for _, name := range slices.Sorted(maps.Keys(r.Asked)) {
		if asked := r.Asked[name]; asked != (reward.Asked{}) { // what workers of a fleet asked is not counted here
			t.Add("asked by "+terminal.Clean(name), scores.Asked(asked))
		}
	}
	t.Add("evaluations/s", fmt.Sprintf("%.0f  (%.2f s)", r.PerSecond, r.Seconds))
	if err := errors.Join(t.Write(w), o.overview.Write(w, o.page(s))); err != nil || s.Skipped.Count == 0 {
		return err
	}
	_, err := fmt.Fprintf(o.host.Stderr, "skipped:%s\n", terminal.Clean(s.Skipped.List()))
	return err
}

// describe adds a reward to the table, with its weight if there are several.
func (o *evalOptions) describe(t *terminal.Table, p reward.Weighted, info reward.Info, several bool) {
	chain := info.Chain
	if len(chain) == 0 {
		chain = []reward.Info{info}
	}
	for i, one := range chain {
		label, text := "reward", one.Name+"  "+one.Digest
		switch {
		case i > 0:
			label = "otherwise"
		case several:
			text = fmt.Sprintf("%s  weight %g  %s", cmp.Or(p.Name, info.Name), p.Weight, one.Digest)
		}
		t.Add(label, text)
		rewardcmd.AddEntry(t, one)
	}
	if without := info.LoadedWithout(); without != "" {
		t.Add("loaded without", terminal.Clean(without))
	}
}

// page returns how the overview is shown: within the width of a terminal, and elsewhere with bars
// of ASCII characters.
func (o *evalOptions) page(s *scoring.Summary) scores.Page {
	p := scores.Page{Style: o.host.OutStyle(), Bar: "#", Unit: cmp.Or(s.Skipped.Unit, "line")}
	if o.host.StdoutTerminal && o.host.Env("TERM") != "dumb" {
		p.Bar = "█"
		p.Columns, _ = o.host.StdoutSize()
	}
	return p
}
