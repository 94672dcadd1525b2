// Package reviewcmd implements merit reward diff and merit verify, which recompute results: the
// effect of a changed reward, and whether a run is authentic.
package reviewcmd

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

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
		Long: `Verify runs the rewards that a run recorded, found by their digests, on every
trajectory that the run saved. It estimates the advantages of the groups that were
saved whole (save.groups) and compares all results with the stored ones, bit for bit.
It recomputes the test figures of summary.json from the saved episodes, and compares
every file of the run with its digest in manifest.json.

The exit code is 12 if anything differs. Verify then names the first difference: the
file, and the line, or the trajectory, step and field, with both values. A run that is
not finished, or that an earlier version created, has no digests of its files; verify
reports that.

Verify takes run directories. Files that merit eval, merit rollout and
merit policy measure write have no digests: create them again, and compare two files of
results with merit reward diff.

Digests find damage and careless changes. A person who changes a file can also write
new digests. To rule that out, keep the digest at the end of manifest.json elsewhere.

Verify cannot repeat the answers of a judge, a scorer that is part of a program, and
outcomes that the machine determined (timeout): it uses their stored results to compute
the advantages. It does not check that an environment and a policy would play the same
episodes again, and it cannot recompute what was not saved: the figures of greedy tests
and of episodes in metrics.jsonl have digests only.`,
		Example: "  merit verify runs/first\n  merit verify runs/first --reward old/reward.wasm",
		Args:    console.Exactly("RUN"),
		RunE:    o.run,
	})
	f := cmd.Flags()
	f.StringArrayVar(&o.Rewards, "reward", nil, "a file or folder that may contain a reward of the run, if it has moved since the run (repeatable)")
	f.IntVar(&o.Parallel, "parallel", 0, "number of groups computed concurrently; 0 is one for each CPU")
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
			said = "not run again: " + p.Why
		}
		parts.Add("reward", p.Name, p.Digest, said)
		for i, one := range p.Chain {
			parts.Add("", strings.Repeat("otherwise ", min(i, 1))+one.Name, one.Digest, one.Found)
		}
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
		fmt.Fprintf(o.host.Stdout, "not checked by digests: files without a checksum above, and unlisted files: %s\n", r.Unsealed)
	}
	if r.Stopped != "" {
		fmt.Fprintf(o.host.Stdout, "some of the run could not be recomputed: %s\n", terminal.Clean(r.Stopped))
	}
	if !r.Agrees() {
		return o.findings(r)
	}
	_, err := fmt.Fprintf(o.host.Stdout, "all bytes agree: %d results and %d advantages were recomputed\n", scores, advantages)
	return err
}

// findings prints what differs, up to a limit.
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
