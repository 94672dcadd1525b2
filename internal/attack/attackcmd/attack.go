// Package attackcmd implements `merit attack`.
package attackcmd

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/cespare/xxhash/v2"
	"github.com/google/renameio/v2"
	"github.com/spf13/cobra"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/attack"
	"github.com/merit-rl/merit/internal/attack/finding"
	"github.com/merit-rl/merit/internal/attack/report"
	"github.com/merit-rl/merit/internal/cli/console"
	"github.com/merit-rl/merit/internal/cli/terminal"
	"github.com/merit-rl/merit/internal/data/jsonl"
	"github.com/merit-rl/merit/internal/rewards/rewardcmd"
	"github.com/merit-rl/merit/sandbox"
	"github.com/merit-rl/merit/sdk/merit"
)

type attackOptions struct {
	host *console.Host
	Data string   `flag:"data" usage:"rows with tasks (default: the reward's fixtures)"`
	Map  []string `flag:"map" usage:"NAME=COLUMN,…: take fields, such as ground_truth, from other columns (repeatable)"`
	rewardcmd.Script
	Samples   string        `flag:"samples" usage:"rows with replies of a model, from which the search also begins"`
	Reference string        `flag:"reference" usage:"a stricter reward: a reply that it finds right is not reported, and one that it finds wrong is"`
	Time      time.Duration `flag:"time" usage:"how long to search; the search ends after a whole round"`
	Rounds    int           `flag:"rounds" usage:"the most rounds; 0 means without a limit"`
	Quiet     int           `flag:"quiet" usage:"end after this many rounds without anything new"`
	Seed      uint64        `flag:"seed" usage:"the seed of the search: the same seed finds the same"`
	Out       string        `flag:"out" usage:"a folder for the findings and the state of the search, from which it continues" folder:"findings.json,state.json"`
	SARIF     string        `flag:"sarif" usage:"where to write the findings for code scanning" output:"yes"`
	JUnit     string        `flag:"junit" usage:"where to write the findings as test results" output:"yes"`
	Fixtures  string        `flag:"fixtures" usage:"a reward's folder fixtures, to which the findings are added: the reward test then requires low scores"`
	Sandbox   sandbox.Config
}

// NewCmd returns the command `merit attack`.
func NewCmd(h *console.Host) *cobra.Command {
	o := &attackOptions{host: h, Time: 10 * time.Minute, Quiet: 12}
	return console.Verb(&cobra.Command{
		Use:   "attack REWARD",
		Short: "Search for replies that score high and are wrong",
		Long: `Attack searches for holes in a reward before a policy does. It tries replies that are
made from the tasks in --data and from the texts in the reward itself, and changes those
that do something new, or that score higher. It needs no model.

The search only looks for high scores. Second opinions then decide whether a reply
deserves its score: the same reply scores high for tasks with different answers; it says
another answer than the truth, or several answers at once; or it says nothing. A reward
that ignores the ground truth scores form only; then a reply without content must not
earn the full score. --reference adds a stricter reward as an opinion.

Each finding is minimized. Findings with the same cause are counted together.

The same seed finds the same. --time ends the search after a whole round, and --rounds
after a number of them. With --out, the search keeps its state after each round, and the
same command continues it.

The exit code is 5 if anything was found.`,
		Example: "  merit attack exactness\n  merit attack reward.py --data rows.jsonl --out attack --time 10s",
		Args:    console.Exactly("REWARD"),
		RunE:    o.run,
	}, o)
}

func (o *attackOptions) run(cmd *cobra.Command, args []string) error {
	if o.Rounds < 0 || o.Quiet < 1 || o.Time < 0 {
		return console.Usage(cmd, "use numbers that are not negative, and at least one round for --quiet", "--rounds, --quiet or --time is out of range")
	}
	ctx := cmd.Context()
	s, done, err := o.subject(ctx, args[0])
	if err != nil {
		return err
	}
	defer done()
	options := attack.Options{Seed: o.Seed, Rounds: o.Rounds, Quiet: o.Quiet, Over: attack.Wait(o.host.Now, o.Time), Tell: o.tell()}
	if options.State, err = o.state(s); err != nil {
		return err
	}
	found, err := attack.Run(ctx, s, options)
	if found == nil {
		return err
	}
	return errors.Join(err, o.report(args[0], found))
}

// subject loads the reward, the rows, the samples and the reference. Done closes the rewards.
func (o *attackOptions) subject(ctx context.Context, target string) (s attack.Subject, done func(), err error) {
	var open []*merit.Rewards
	done = func() {
		for _, r := range open {
			r.Close()
		}
	}
	defer func() {
		if err != nil {
			done()
		}
	}()
	columns, err := jsonl.ParseColumns(o.Map)
	if err != nil {
		return s, done, err
	}
	named, err := rewardcmd.Name(target, o.With)
	if err != nil {
		return s, done, err
	}
	named.Batch, named.Answers = o.Batch, o.Answers
	if s.Rows, err = o.rows(named.Path, o.Data, columns); err != nil {
		return s, done, err
	}
	if o.Samples != "" {
		if s.Samples, err = o.rows(named.Path, o.Samples, columns); err != nil {
			return s, done, err
		}
	}
	ref, err := named.Find()
	if err != nil {
		return s, done, err
	}
	s.Source, s.Script = source(ref.Path), sandbox.IsScript(ref.Path)
	cfg := o.Sandbox
	cfg.Cover = cfg.Isolation == sandbox.Snapshot || cfg.Isolation == sandbox.Fresh
	if s.Pool, err = o.load(ctx, cfg, named, &open); err != nil {
		return s, done, err
	}
	if modules := open[0].Modules; cfg.Cover && len(modules) == 1 {
		s.Words, s.Place = modules[0].Words(), modules[0].Place
	}
	if o.Reference == "" {
		return s, done, nil
	}
	strict, err := rewardcmd.Name(o.Reference, "")
	if err == nil {
		s.Reference, err = o.load(ctx, o.Sandbox, strict, &open)
	}
	return s, done, err
}

// load loads a reward.
func (o *attackOptions) load(ctx context.Context, cfg sandbox.Config, n rewardcmd.Named, open *[]*merit.Rewards) (*reward.Pool, error) {
	loaded, err := rewardcmd.Load(ctx, o.host, cfg, n)
	if err != nil {
		return nil, err
	}
	*open = append(*open, loaded)
	return reward.NewPool(loaded.Parts, o.Sandbox.Workers), nil
}

func (o *attackOptions) rows(path, data string, columns []jsonl.Column) ([]*rl.Trajectory, error) {
	rows, _, err := rewardcmd.Rows(o.host, path, data, columns)
	if err == nil && len(rows) == 0 {
		err = &fault.Error{Boundary: fault.Data, Kind: fault.Missing, Where: data, What: "has no rows", Hint: "name a file with at least one task with --data"}
	}
	return rows, err
}

// source returns the text of a script, or the module; nil if it cannot be read.
func source(path string) []byte {
	const most = 64 << 20
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		for _, name := range []string{"reward.py", "reward.js"} {
			if file := filepath.Join(path, name); exists(file) {
				path = file
				break
			}
		}
	}
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() || info.Size() > most {
		return nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	return text
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// state returns the state of the search in --out, or nil.
func (o *attackOptions) state(s attack.Subject) (*attack.State, error) {
	if o.Out == "" {
		return nil, nil
	}
	if err := os.MkdirAll(o.Out, 0o755); err != nil {
		return nil, console.CannotWrite(err)
	}
	rows, err := json.Marshal([]any{s.Rows, s.Samples})
	if err != nil {
		return nil, err
	}
	about := s.Pool.Parts()[0].Scorer.Info().Digest + fmt.Sprintf(" %016x", xxhash.Sum64(rows))
	if s.Reference != nil {
		about += " " + s.Reference.Parts()[0].Scorer.Info().Digest
	}
	return &attack.State{Dir: o.Out, About: about}, nil
}

// tell returns what shows the progress.
func (o *attackOptions) tell() func(attack.Progress) {
	return func(p attack.Progress) {
		o.host.Logger().Info("round", "number", p.Round, "evaluations", p.Evaluations, "findings", p.Findings, "new", p.New)
	}
}

// report writes and prints the findings, and returns an error if there are any.
func (o *attackOptions) report(target string, r *attack.Result) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	if o.Out != "" {
		if err := renameio.WriteFile(filepath.Join(o.Out, "findings.json"), append(text, '\n'), 0o644); err != nil {
			return console.CannotWrite(err)
		}
	}
	if err := o.export(target, r); err != nil {
		return err
	}
	if o.host.Global.JSON {
		_, err = fmt.Fprintln(o.host.Stdout, string(text))
	} else {
		err = o.print(target, r)
	}
	if err != nil || len(r.Findings) == 0 {
		return err
	}
	return &fault.Error{
		Boundary: fault.Sandbox, Kind: fault.Refused, Where: target, What: fmt.Sprintf("%s: replies score high and are wrong", terminal.Count(len(r.Findings), "finding")),
		Hint: "correct the reward at the first finding, and attack it again",
	}
}

// export writes the findings for other tools.
func (o *attackOptions) export(target string, r *attack.Result) error {
	path, _, _ := strings.Cut(target, ".py:")
	if path != target {
		path += ".py"
	}
	folder := path
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		folder = filepath.Dir(path)
	}
	m := report.Meta{Reward: filepath.ToSlash(path), Folder: filepath.ToSlash(folder), Version: merit.ReadVersion().Version, Tasks: r.Tasks, Seed: o.Seed, Rounds: r.Rounds, Evaluations: r.Evaluations}
	for _, w := range []struct {
		path  string
		write func(io.Writer, report.Meta, []finding.Finding) error
	}{{o.SARIF, report.SARIF}, {o.JUnit, report.JUnit}} {
		if w.path == "" {
			continue
		}
		var b bytes.Buffer
		if err := w.write(&b, m, r.Findings); err != nil {
			return err
		}
		if err := renameio.WriteFile(w.path, b.Bytes(), 0o644); err != nil {
			return console.CannotWrite(err)
		}
	}
	if o.Fixtures == "" {
		return nil
	}
	return report.Fixtures(o.Fixtures, r.Findings)
}

// print writes the findings for people.
func (o *attackOptions) print(target string, r *attack.Result) error {
	w, style := o.host.Stdout, o.host.OutStyle()
	for i, f := range r.Findings {
		fmt.Fprintf(w, "%s  %s\n", style.Red(fmt.Sprint(i+1)), style.Bold(terminal.Clean(f.Kind)))
		fmt.Fprintf(w, "   the reply  %s\n", shown(f.Reply, f.Row))
		fmt.Fprintf(w, "   scores     %g for task %s; the right reply scores %g\n", f.Score, terminal.Clean(f.Task), f.Right)
		if f.Line > 0 {
			fmt.Fprintf(w, "   at         %s:%d: %s\n", f.File, f.Line, terminal.Clean(strings.TrimSpace(f.Source)))
		}
		fmt.Fprintf(w, "   wrong by   %s\n", f.Doubt)
		for _, line := range f.Evidence {
			fmt.Fprintf(w, "     %s\n", terminal.Clean(line))
		}
		if f.Others > 0 {
			fmt.Fprintf(w, "   found      %d more times\n", f.Others)
		}
		fmt.Fprintln(w)
	}
	form := ""
	if r.Form {
		form = ", and the ground truth does not change the score"
	}
	_, err := fmt.Fprintf(w, "%s: %s in %s and %s on %s; the search ended because %s%s\n", target, terminal.Count(len(r.Findings), "finding"),
		terminal.Count(r.Rounds, "round"), terminal.Count(r.Evaluations, "evaluation"), terminal.Count(len(r.Tasks), "task"), r.Stopped, form)
	return err
}

// shown is a reply on one line.
func shown(text string, row *rl.Trajectory) string {
	const most = 300
	if last := row.Messages[len(row.Messages)-1]; len(last.ToolCalls) > 0 {
		text = last.ToolCalls[0].Function.Name + "(" + last.ToolCalls[0].Function.Arguments + ") " + text
	}
	if r := []rune(text); len(r) > most {
		return fmt.Sprintf("%q… (%d characters)", string(r[:most]), len(r))
	}
	return fmt.Sprintf("%q", text)
}
