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
		Long: `Verify asks the rewards that a run recorded, by their digests, about every
trajectory that the run has kept, estimates the advantages of the groups that it
has kept whole (save.groups), and compares the results with what is stored, to
the last bit. It computes the figures of the test in summary.json again from the
episodes that the run has kept, and holds every file of the run to the digest that
manifest.json has of it.

The exit code is 12 if anything differs; the first place is named: the file, and the
line, or trajectory, step and field, with both values. A run that has not ended, or
was made by an earlier version, keeps no digests of its files; verify then says so.

Verify takes run directories. Files that eval, rollout and evaluate write keep no
digests: make them again, and compare the two with merit reward diff.

Digests find damage and careless changes. Whoever changes a file can also write
new digests: keep the digest that manifest.json ends with elsewhere to rule that out.

A judge's answers, a scorer of a program, and outcomes that the machine decided
(timeout) are not repeated: their results are taken as they are stored, and the
advantages are computed from them. That an environment and a policy would play
the same again is not looked at, and what was not kept is not computed again: the
figures of greedy tests and of episodes in metrics.jsonl have digests only.`,
		Example: "  merit verify runs/first\n  merit verify runs/first --reward old/reward.wasm",
		Args:    console.Exactly("RUN"),
		RunE:    o.run,
	})
	f := cmd.Flags()
	f.StringArrayVar(&o.Rewards, "reward", nil, "a file or folder that may hold a reward of the run, if it is not where the run had it (repeatable)")
	f.IntVar(&o.Parallel, "parallel", 0, "groups at one time; 0 is one for each processor")
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
			said = "not asked again: " + p.Why
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
		fmt.Fprintf(o.host.Stdout, "not all could be computed again: %s\n", terminal.Clean(r.Stopped))
	}
	if !r.Agrees() {
		return o.findings(r)
	}
	_, err := fmt.Fprintf(o.host.Stdout, "all bytes agree: %d results and %d advantages were computed again\n", scores, advantages)
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
