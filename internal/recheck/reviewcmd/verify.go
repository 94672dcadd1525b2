// Package reviewcmd holds the verbs that look at results again: what a change of a
// reward changes, and whether a run is what it says.
package reviewcmd

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/merit-rl/merit/internal/cli/console"
	"github.com/merit-rl/merit/internal/cli/terminal"
	"github.com/merit-rl/merit/internal/recheck/verify"
	"github.com/merit-rl/merit/internal/rewards/rewardcmd"
	"github.com/merit-rl/merit/sandbox"
)

type verifyOptions struct {
	host *console.Host
	verify.Options
}

// NewVerifyCmd returns merit verify.
func NewVerifyCmd(h *console.Host) *cobra.Command {
	o := &verifyOptions{host: h}
	cmd := console.Verb(&cobra.Command{
		Use:   "verify RUN",
		Short: "Recompute the scores and advantages of a run and compare them",
		Long: `Verify loads the rewards that a run recorded, by their digests, and scores every kept
trajectory again. It estimates the advantages of the groups that the run kept whole
(save.groups), and compares all results with the stored ones, to the last bit. It also
recomputes the test figures in summary.json from the kept episodes, and compares every
file of the run with its digest in manifest.json.

If anything differs, the exit code is 12, and verify names the first place: the file, and
the line, or trajectory, step and field, with both values. A run that has not finished, or
that an earlier version made, has no digests; verify then says so.

Verify takes run directories. The files of eval, rollout and evaluate have no digests:
create them again, and compare the two with merit diff.

Digests find damage and careless changes. A person who changes a file can also write new
digests; to detect that, keep the digest at the end of manifest.json elsewhere.

Verify does not repeat a judge's answers, a scorer that is a program, or outcomes that
depended on the machine (timeout). It takes these results as stored and computes the
advantages from them. It does not replay the environment and the policy, and cannot
recompute what was not kept: the figures of greedy tests and of episodes in metrics.jsonl
are covered by digests only.`,
		Example: "  merit verify runs/first\n  merit verify runs/first --reward old/reward.wasm",
		Args:    console.Exactly("RUN"),
		RunE:    o.run,
	})
	f := cmd.Flags()
	f.StringArrayVar(&o.Rewards, "reward", nil, "a file or folder that may contain a reward of the run, if the reward has moved (repeatable)")
	f.IntVar(&o.Parallel, "parallel", 0, "number of groups to process at once; 0 means one per CPU")
	return cmd
}

func (o *verifyOptions) run(cmd *cobra.Command, args []string) error {
	r, err := verify.Run(cmd.Context(), args[0], o.Options, rewardcmd.Options(o.host, sandbox.Limits{})...)
	if err != nil {
		return err
	}
	if o.host.Global.JSON {
		err = o.host.PrintJSON(r)
	} else {
		err = o.print(r)
	}
	return errors.Join(err, r.Err())
}

func (o *verifyOptions) print(r *verify.Report) error {
	var parts terminal.Table
	for _, p := range r.Rewards {
		said := "found by its digest"
		if p.Why != "" {
			said = "not repeated: " + p.Why
		}
		parts.Add("reward", p.Name, p.Digest, said)
	}
	if err := parts.Write(o.host.Stdout); err != nil {
		return err
	}
	t := terminal.Table{Head: []string{"file", "trajectories", "rescored", "whole groups", "advantages", "differ", "checksum"}}
	scores, advantages := 0, 0
	for _, f := range r.Files {
		cells := []string{f.Name, "", "", "", "", "", f.Checked}
		if f.Trajectories > 0 {
			for i, n := range []int{f.Trajectories, f.Rescored, f.Groups, f.Advantages, f.Differ} {
				cells[i+1] = strconv.Itoa(n)
			}
		}
		t.Add(cells...)
		scores, advantages = scores+f.Rescored, advantages+f.Advantages
	}
	if err := t.Write(o.host.Stdout); err != nil {
		return err
	}
	if r.Unsealed != "" {
		fmt.Fprintf(o.host.Stdout, "not checked by digests: the files without a checksum above, and those that are not listed: %s\n", r.Unsealed)
	}
	if r.Stopped != "" {
		fmt.Fprintf(o.host.Stdout, "could not recompute everything: %s\n", terminal.Clean(r.Stopped))
	}
	if !r.Agrees() {
		return o.findings(r)
	}
	_, err := fmt.Fprintf(o.host.Stdout, "all bytes agree: %d results and %d advantages were recomputed\n", scores, advantages)
	return err
}

// findings lists what differs, up to a page of it.
func (o *verifyOptions) findings(r *verify.Report) error {
	const most = 20
	for i, f := range r.Findings {
		if i == most {
			_, err := fmt.Fprintf(o.host.Stdout, "%d more: --json lists all\n", len(r.Findings)-most)
			return err
		}
		if _, err := fmt.Fprintf(o.host.Stdout, "differs  %s: %s\n", f.File, terminal.Clean(f.String())); err != nil {
			return err
		}
	}
	return nil
}
