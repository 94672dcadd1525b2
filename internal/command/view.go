package command

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/cli/console"
	"github.com/merit-rl/merit/internal/cli/show"
	"github.com/merit-rl/merit/internal/cli/terminal"
	"github.com/merit-rl/merit/internal/data/jsonl"
)

type viewOptions struct {
	host   *console.Host
	Id     string `flag:"id" usage:"only trajectories whose id or group is this, or matches this pattern (* and ?)"`
	Failed bool   `flag:"failed" usage:"only trajectories without a score, or that ended with an error"`
	Limit  int    `flag:"limit" usage:"print at most this many; 0 prints all"`
	Boards bool   `flag:"boards" usage:"states side by side instead of one step after the other"`
	Full   bool   `flag:"full" usage:"nothing shortened, system prompts too"`

	chosen  int  // number of trajectories that match --id
	SkipBad bool `flag:"skip-bad" usage:"omit lines that cannot be used"`
}

func newViewCmd(h *console.Host) *cobra.Command {
	o := &viewOptions{host: h, Limit: 10}
	return console.Paged(h, console.Verb(&cobra.Command{
		Use:   "view RUN|FILE",
		Short: "Print episodes step by step",
		Long: `View prints the episodes of a run directory or of a file of trajectories. The file has
one JSON object per line (plain, .zst or .gz) or is Parquet, CSV or TSV; - means stdin.
With --json, view prints the selected trajectories unchanged, one per line.

On a terminal, view shows long output in $MERIT_PAGER, $PAGER or less -FRX; --no-pager
turns this off.`,
		Example: "  merit view quickstart/run --limit 1\n  merit view quickstart/run --failed\n  merit view quickstart/episodes.jsonl --id test-g0-m0 --boards",
		Args:    console.Exactly("RUN|FILE"),
		RunE:    o.run,
	}, o))
}

func (o *viewOptions) run(cmd *cobra.Command, args []string) error {
	if _, err := filepath.Match(o.Id, ""); err != nil {
		return console.Usage(cmd, "write * for any text", "--id %q is not a pattern", o.Id)
	}
	files, err := show.Files(args[0])
	if err != nil {
		return err
	}
	left := o.Limit
	if left <= 0 {
		left = -1
	}
	p := &show.Printer{Style: o.host.OutStyle(), Full: o.Full, Boards: o.Boards}
	for _, file := range files {
		if left == 0 {
			break
		}
		if err := o.file(cmd, p, file, &left); err != nil {
			return err
		}
	}
	switch {
	case left != o.Limit || left <= 0:
	case o.Failed && o.chosen > 0:
		_, err = fmt.Fprintf(o.host.Stderr, "none of %d trajectories failed\n", o.chosen)
	case o.Id == "":
		return &fault.Error{Boundary: fault.Data, Kind: fault.Missing, Where: args[0], What: "there are no trajectories", Hint: "give a run directory or a file of trajectories"}
	default:
		return &fault.Error{Boundary: fault.Data, Kind: fault.Missing, Where: args[0], What: "no trajectory matches", Hint: "omit --id to see all trajectories"}
	}
	if left == 0 && !o.host.Global.Quiet && !o.host.Global.JSON && !cmd.Flags().Changed("limit") {
		_, err = fmt.Fprintf(o.host.Stderr, "the first %d; --limit 0 prints all, --id selects some, --boards shows states side by side\n", o.Limit)
	}
	return err
}

func (o *viewOptions) file(cmd *cobra.Command, p *show.Printer, path string, left *int) error {
	r, err := jsonl.Open(path, o.host.Stdin)
	if err != nil {
		return err
	}
	defer r.Close()
	var bad jsonl.Bad
	for *left != 0 {
		if err := cmd.Context().Err(); err != nil {
			return err
		}
		t, err := r.NextGood(&bad)
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return errors.Join(bad.Err(r.Name()), err)
		}
		if !o.wants(t) {
			continue
		}
		*left--
		if err := o.print(p, t); err != nil {
			return err
		}
	}
	o.host.Notes(r.Notes())
	if err := bad.Err(r.Name()); err != nil && o.SkipBad {
		terminal.Warning(o.host.Stderr, o.host.ErrStyle(), err)
	} else if err != nil {
		return withFlag(err, "with --skip-bad they are not an error")
	}
	return nil
}

func (o *viewOptions) wants(t *rl.Trajectory) bool {
	if o.Id != "" {
		id, _ := filepath.Match(o.Id, t.ID)
		group, _ := filepath.Match(o.Id, t.Group)
		if !id && !group {
			return false
		}
	}
	o.chosen++
	return !o.Failed || t.Error != "" || t.StopReason == rl.StopError || t.Outcome != "" && t.Outcome != string(reward.Scored)
}

func (o *viewOptions) print(p *show.Printer, t *rl.Trajectory) error {
	if o.host.Global.JSON {
		return console.WriteLine(o.host.Stdout, t)
	}
	_, err := io.WriteString(o.host.Stdout, p.Trajectory(t))
	return err
}
