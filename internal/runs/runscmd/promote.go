package runscmd

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/merit-rl/merit/core/evidence"
	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/cli/console"
	"github.com/merit-rl/merit/internal/cli/show"
	"github.com/merit-rl/merit/internal/cli/terminal"
	"github.com/merit-rl/merit/internal/promote"
	"github.com/merit-rl/merit/internal/rewards/rewardcmd"
	"github.com/merit-rl/merit/sdk/merit"
)

type promoteOptions struct {
	host      *console.Host
	To        string `flag:"to" usage:"name or folder of the promoted policy (default: the name of the run's environment)"`
	Share     string `flag:"share" usage:"share of the starts that the version plays, such as 10% or 0.1 (default: all)"`
	Back      bool   `flag:"fall-back" usage:"the same as merit policy rollback"`
	Evidence  string `flag:"evidence" usage:"measurement of RUN"`
	Against   string `flag:"against" usage:"measurement of the policy that plays now"`
	Baseline  string `flag:"baseline" usage:"for a new name: the configuration whose policy plays now (default: the run's policy before training)" files:"yaml,yml"`
	candidate promote.Candidate
}

// NewPromoteCmd returns the promote command.
func NewPromoteCmd(h *console.Host) *cobra.Command {
	o := &promoteOptions{host: h}
	cmd := console.Verb(&cobra.Command{
		Use:   "promote [RUN]",
		Short: "Use a better policy for a share of the episodes",
		Long: `Promote copies the best checkpoint of a run, with its manifest and its evidence, into
a folder of numbered versions and makes it the policy that --policy NAME plays. It
refuses a policy unless evidence shows that it is better by as much as the evidence
section of the run's configuration requires (15 % and p < 0.05; see merit compare).
The evidence is two measurements on the same starts, of that checkpoint and of the
policy that plays now: those of --evidence and --against (merit policy measure --out).
Without these flags, promote uses the tests before and after training that the run
contains if the name is new, and plays both policies if the name has a version.
The policy that the first version was compared with is the fall-back: it plays the
starts outside of --share, and all starts after merit policy rollback.
Without RUN, promote changes the share or shows which version plays. Without --to, it
lists all policies.

A name is a folder in $MERIT_POLICIES, or in policies.`,
		Example: `  merit policy promote runs/better --to sokoban --share 10%
  merit policy promote runs/better --to policies/sokoban --evidence trained.json --against before.json
  merit policy promote --to sokoban --share 100%`,
		Args: cobra.MaximumNArgs(1),
		RunE: o.run,
	}, o)
	f := cmd.Flags()
	f.StringArrayVar(&o.candidate.Thresholds, "set", nil, "override a threshold of the run: evidence.key=value (repeatable)")
	f.BoolVar(&o.candidate.Unproven, "unproven", false, "promote even if the evidence does not show that the policy is better")
	return cmd
}

func (o *promoteOptions) run(cmd *cobra.Command, args []string) error {
	if (o.Evidence == "") != (o.Against == "") || o.Baseline != "" && o.Evidence != "" {
		return console.Usage(cmd, "measure both with merit policy measure --out FILE on the same starts, or omit both", "use --evidence and --against together and without --baseline")
	}
	if o.Back && (len(args) > 0 || o.Share != "") {
		return console.Usage(cmd, "omit the run and --share", "--fall-back cannot be combined with a run or --share")
	}
	share, err := parseShare(o.Share)
	if err != nil {
		return console.Usage(cmd, "use 0 to 1, or a percentage such as 10%", "--share %q is not a share", o.Share)
	}
	if len(args) == 0 && o.To == "" {
		if o.Back || o.Share != "" {
			return console.Usage(cmd, "name it with --to", "no promoted policy is named")
		}
		return listPolicies(o.host)
	}
	var s *promote.State
	if len(args) > 0 {
		o.candidate.Checkpoint, o.candidate.Share = args[0], share
		s, err = o.promote(cmd.Context())
	} else {
		dir := promote.Folder(o.To, o.host.Env)
		switch {
		case o.Back:
			s, err = promote.Change(dir, (*promote.State).FallBack)
		case o.Share != "":
			s, err = promote.Change(dir, func(s *promote.State) error { return s.SetShare(share) })
		default:
			s, err = promote.Read(dir)
		}
	}
	if err != nil {
		return err
	}
	return report(o.host, s)
}

// promote collects the evidence, unless the flags name it, and promotes.
func (o *promoteOptions) promote(ctx context.Context) (*promote.State, error) {
	if o.To == "" {
		dir, _, err := merit.SplitCheckpoint(o.candidate.Checkpoint)
		if err != nil {
			return nil, err
		}
		cfg, err := merit.LoadRun(dir)
		if err != nil {
			return nil, err
		}
		if o.To = promote.NameOf(cmp.Or(cfg.Environment.Plugin, cfg.Environment.Module, cfg.Environment.Harbor)); o.To == "" {
			return nil, &fault.Error{
				Boundary: fault.CLI, Kind: fault.Invalid, Where: dir, What: fmt.Sprintf("no policy name can be derived from the environment %q", cfg.Environment.Plugin),
				Hint: "name the policy with --to",
			}
		}
	}
	dir := promote.Folder(o.To, o.host.Env)
	var err error
	c := &o.candidate
	if o.Evidence != "" {
		if c.Evidence, err = promote.ReadMeasured(o.Evidence); err != nil {
			return nil, err
		}
		if c.Against, err = promote.ReadMeasured(o.Against); err != nil {
			return nil, err
		}
		return promote.Promote(dir, *c)
	}
	g := promote.Gathering{Checkpoint: c.Checkpoint, Baseline: o.Baseline}
	end := func() {}
	g.Open = func(ctx context.Context, cfg *merit.Config) (*merit.Session, error) {
		progress := newProgress(o.host, merit.RolloutProgress, "episodes", cfg.Train.TestEpisodes)
		end = progress.close
		return merit.Open(ctx, cfg, append(rewardcmd.Options(o.host, cfg.Sandbox.Limits), merit.WithProgress(progress))...)
	}
	c.Evidence, c.Against, err = promote.Gather(ctx, dir, g)
	end()
	if err != nil {
		return nil, err
	}
	return promote.Promote(dir, *c)
}

func parseShare(text string) (float64, error) {
	if text == "" {
		return 1, nil
	}
	number, percent := strings.CutSuffix(text, "%")
	x, err := strconv.ParseFloat(number, 64)
	if percent {
		x /= 100
	}
	if err == nil && !(x >= 0 && x <= 1) {
		err = strconv.ErrRange
	}
	return x, err
}

// report prints the versions of a policy and which of them plays.
func report(h *console.Host, s *promote.State) error {
	if h.Global.JSON {
		return h.PrintJSON(s)
	}
	t := terminal.Table{Head: []string{"version", "plays", "success", "p", "return", "verdict", "against", "from"}}
	rest := 1.0
	for _, v := range s.Versions {
		plays := ""
		if v.Number == s.Current {
			plays, rest = terminal.Percent(s.Share), 1-s.Share
		}
		row := []string{strconv.Itoa(v.Number), plays, "", "", "", string(v.Evidence.Verdict.Decision), v.Against, v.From}
		d, ok := v.Evidence.Metric(evidence.WinRate)
		if !ok {
			d, ok = v.Evidence.Metric(evidence.Success)
		}
		if ok {
			c := show.Difference(d)
			row[2], row[3] = c.Difference+" points", c.P
		}
		if d, ok := v.Evidence.Metric(evidence.Return); ok {
			row[4] = show.Difference(d).Difference
		}
		t.Add(row...)
	}
	t.Add("fall-back", terminal.Percent(rest), "", "", "", "", "", s.Fallback)
	return t.Write(h.Stdout)
}

// listPolicies prints every named policy.
func listPolicies(h *console.Host) error {
	names, states, err := promote.List(h.Env)
	if err != nil {
		return err
	}
	if h.Global.JSON {
		all := map[string]*promote.State{}
		for i, name := range names {
			all[name] = states[i]
		}
		return h.PrintJSON(all)
	}
	t := terminal.Table{Head: []string{"policy", "versions", "plays", "fall-back"}}
	for i, s := range states {
		t.Add(names[i], strconv.Itoa(len(s.Versions)), s.Playing(), s.Fallback)
	}
	if len(names) == 0 {
		_, err := fmt.Fprintf(h.Stdout, "%s contains no promoted policies\n", promote.Root(h.Env))
		return err
	}
	return t.Write(h.Stdout)
}
