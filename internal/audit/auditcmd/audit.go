// Package auditcmd implements `merit audit`.
package auditcmd

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/google/renameio/v2"
	"github.com/spf13/cobra"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/audit"
	"github.com/merit-rl/merit/internal/cli/console"
	"github.com/merit-rl/merit/internal/cli/terminal"
	"github.com/merit-rl/merit/internal/rewards/rewardcmd"
	"github.com/merit-rl/merit/sandbox"
)

type auditOptions struct {
	host *console.Host
	As   string   `flag:"as" usage:"what to audit the target as, if Merit cannot tell: reward or environment" words:"reward,environment"`
	Out  string   `flag:"out" usage:"where to write the report as JSON" output:"yes"`
	Data string   `flag:"data" usage:"rows with tasks for a reward (default: the reward's fixtures)"`
	Map  []string `flag:"map" usage:"NAME=COLUMN,…: take fields, such as ground_truth, from other columns (repeatable)"`
	rewardcmd.Script
	Range   string   `flag:"range" usage:"the range of scores or rewards: LOW,HIGH"`
	Options string   `flag:"options" usage:"the environment's options, a JSON object"`
	Say     []string `flag:"say" usage:"text to send to an environment that takes free text (repeatable)"`
	Oracle  string   `flag:"oracle" usage:"a file with the actions that solve an environment: one JSON object per line, {\"seed\": 1, \"actions\": [\"right\"]}"`
	URL     string   `flag:"url" usage:"the running server of the package, to play it"`
	Sandbox sandbox.Config
}

// NewCmd returns the command `merit audit`.
func NewCmd(h *console.Host) *cobra.Command {
	o := &auditOptions{host: h}
	return console.Verb(&cobra.Command{
		Use:   "audit TARGET",
		Short: "Look for defects in a reward or an environment",
		Long: `Audit tries a reward or an environment with inputs that reveal known defects, and
reports what it measured. It needs neither a model nor Docker.

A reward is a script, a module or a folder. Audit replaces the replies of its fixtures,
or of --data, by right answers in common forms and by wrong ones: empty, random,
truncated, those of other tasks, lists of many answers, and known hacks. Right answers
must pass and wrong ones fail. The score must not depend on the order of calls, on the
order of options, or on more words. Without a ground truth there must be no score.

An environment is the name or the path of a plug-in or module, the URL of an OpenEnv
server, or a folder with an openenv.yaml or with the task.toml of a Harbor task. Audit
makes the acceptance tests of OpenEnv's RFC 008 that need no Docker, with its check ids
and its report. To play a package too, start its server and name it with --url. --oracle
names actions that solve it. Of a Harbor task, audit runs the solution and an agent that
does nothing.

A check that cannot be made is skipped, and the report says why. The exit code is 5 for a
reward and 6 for an environment if a check of severity fail fails; checks of severity
warn and advisory do not change it.`,
		Example: "  merit audit exactness\n  merit audit reward.py --data rows.jsonl --out report.json\n  merit audit sokoban\n  merit audit examples/harbor/log-report",
		Args:    console.Exactly("TARGET"),
		RunE:    o.run,
	}, o)
}

func (o *auditOptions) run(cmd *cobra.Command, args []string) error {
	bounds, err := o.bounds(cmd)
	if err != nil {
		return err
	}
	kind, err := o.kind(cmd, args[0])
	if err != nil {
		return err
	}
	report, err := o.audit(cmd.Context(), args[0], kind, bounds)
	if err != nil {
		return err
	}
	return o.report(report)
}

func (o *auditOptions) audit(ctx context.Context, target string, kind what, bounds *[2]float64) (*audit.Report, error) {
	switch kind {
	case reward:
		return o.reward(ctx, target, bounds)
	case harbor:
		return o.harbor(ctx, target, bounds)
	}
	return o.environment(ctx, target, kind, bounds)
}

// bounds returns the range of --range, or nil.
func (o *auditOptions) bounds(cmd *cobra.Command) (*[2]float64, error) {
	if o.Range == "" {
		return nil, nil
	}
	var b [2]float64
	if n, err := fmt.Sscanf(o.Range, "%g,%g", &b[0], &b[1]); err != nil || n != 2 || !(b[0] < b[1]) {
		return nil, console.Usage(cmd, "write the lowest and the highest score, such as --range 0,1", "--range %q is not a range", o.Range)
	}
	return &b, nil
}

// report writes and prints the report, and returns an error if a severe check failed.
func (o *auditOptions) report(r *audit.Report) error {
	text, err := r.JSON()
	if err != nil {
		return err
	}
	if o.Out != "" && o.Out != "-" {
		if err := renameio.WriteFile(o.Out, text, 0o644); err != nil {
			return console.CannotWrite(err)
		}
	}
	w := o.host.Stdout
	if o.host.Global.JSON || o.Out == "-" {
		_, err = io.Copy(w, bytes.NewReader(text))
	} else {
		err = o.print(w, r)
	}
	failed := r.Failures(audit.Severe)
	if err != nil || len(failed) == 0 {
		return err
	}
	names := make([]string, len(failed))
	for i, x := range failed {
		names[i] = x.ID
	}
	first := cmp.Or(*cmp.Or(failed[0].Remediation, new(string)), "read its evidence above")
	boundary := fault.Plugin
	if r.Signature == audit.Reward {
		boundary = fault.Sandbox
	}
	return &fault.Error{
		Boundary: boundary, Kind: fault.Refused, Where: r.Target,
		What: fmt.Sprintf("%s failed: %s", terminal.Count(len(failed), "check"), strings.Join(names, ", ")), Hint: first,
	}
}

// print writes the report for people: a line for each check that was made, then those that were
// not.
func (o *auditOptions) print(w io.Writer, r *audit.Report) error {
	style := o.host.OutStyle()
	var t terminal.Table
	skipped := map[string][]string{}
	var order []string
	for _, x := range r.Results {
		c, _ := audit.Find(x.ID)
		if x.Status == audit.Skip {
			why := strings.Join(x.Evidence, "; ")
			if skipped[why] == nil {
				order = append(order, why)
			}
			skipped[why] = append(skipped[why], x.ID)
			continue
		}
		word := string(x.Status)
		if x.Status == audit.Fail && c.Severity != audit.Severe {
			word = string(c.Severity)
		}
		t.Add(word, x.ID, c.Title)
	}
	if err := t.Write(w); err != nil {
		return err
	}
	for _, x := range r.Results {
		if x.Status != audit.Fail && x.Status != audit.Oops {
			continue
		}
		fmt.Fprintf(w, "\n%s\n", style.Red(x.ID))
		for _, line := range x.Evidence {
			fmt.Fprintf(w, "  %s\n", terminal.Clean(line))
		}
		if x.Remediation != nil {
			fmt.Fprintf(w, "  hint: %s\n", *x.Remediation)
		}
	}
	for i, why := range order {
		if i == 0 {
			fmt.Fprintln(w, "\nnot run:")
		}
		fmt.Fprintf(w, "  %s: %s\n", strings.Join(skipped[why], ", "), terminal.Clean(why))
	}
	made := len(r.Results)
	for _, ids := range skipped {
		made -= len(ids)
	}
	_, err := fmt.Fprintf(w, "\n%s: %s, %d of %s run\n", r.Target, r.Verdict, made, terminal.Count(len(r.Results), "check"))
	return err
}

// exists reports whether there is a file or folder at a path.
func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
