package receiptscmd

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/cli/console"
	"github.com/merit-rl/merit/internal/cli/terminal"
	"github.com/merit-rl/merit/internal/data/jsonl"
	"github.com/merit-rl/merit/internal/receipts"
	"github.com/merit-rl/merit/internal/rewards/rewardcmd"
	"github.com/merit-rl/merit/sandbox"
	"github.com/merit-rl/merit/sdk/merit"
)

type checkOptions struct {
	host   *console.Host
	Key    string `flag:"key" usage:"the public key of the signer: a .pub file, or a file of allowed signers" needed:"yes"`
	Reward string `flag:"reward" usage:"the reward that scored, as for merit eval"`
	rewardcmd.Script
	Otherwise string   `flag:"otherwise" usage:"the reward that was asked second, as for merit eval"`
	Config    string   `flag:"config,c" usage:"configuration with the rewards, instead of --reward" files:"yaml,yml"`
	Data      string   `flag:"data" usage:"the trajectories that were scored; - is stdin"`
	Columns   []string `flag:"map" usage:"NAME=COLUMN,…: take fields from other columns, instead of those that the receipts name (repeatable)"`
	Share     float64  `flag:"share" usage:"share of the scores to compute again, chosen at random; at least 20 if there are so many"`
	All       bool     `flag:"all" usage:"compute all scores again"`
	Seed      uint64   `flag:"seed" usage:"which scores the share has (default: another choice each time)"`
	Parallel  int      `flag:"parallel" usage:"number of concurrent evaluations; 0 means one per CPU"`
	keys      receipts.Keys
}

func newCheckCmd(h *console.Host) *cobra.Command {
	o := &checkOptions{host: h, Share: 0.01}
	return console.Verb(&cobra.Command{
		Use:   "check FILE",
		Short: "Check the signatures of receipts, and compute scores again",
		Long: `Check reads a file of receipts that merit eval --receipts wrote, or one receipt that
merit receipts show wrote.

With --key alone, it checks the signatures, and that no receipt was changed, is missing,
doubled or out of order.

With the reward and the data as well, it compares the input of every receipt with its
row, and computes a random share of the scores again in the sandbox: outcome, score,
fuel, metrics and reason must be the same, bit for bit, on any machine. What is not as it
was signed is always computed again, so that the finding names the field. The limits of
the sandbox are those of the receipts.

The exit code is 12 if anything differs. Check then names the line, the receipt and the
field.

Check cannot repeat the answers of a language model, and outcomes that the clock or a
machine determined (timeout, infrastructure): it says so, and checks the rest.`,
		Example: "  merit receipts check scores.receipts --key receipts-key.pub\n" +
			"  merit receipts check scores.receipts --key receipts-key.pub --reward reward.wasm --data trajectories.jsonl --share 0.05",
		Args: console.Exactly("FILE"),
		RunE: o.run,
	}, o)
}

func (o *checkOptions) run(cmd *cobra.Command, args []string) (err error) {
	named := o.Reward != "" || o.Config != ""
	switch {
	case o.Reward != "" && o.Config != "":
		return console.Usage(cmd, "give one of the two", "--config and --reward both name a reward")
	case named != (o.Data != ""):
		return console.Usage(cmd, "give both, or neither to check only the signatures", "scores are computed again from a reward (--reward or --config) and the data (--data)")
	case !(o.Share >= 0 && o.Share <= 1):
		return console.Usage(cmd, "write a share from 0 to 1, such as 0.05", "--share %v is not a share", o.Share)
	}
	if o.All {
		o.Share = 1
	}
	if o.keys, err = receipts.ReadKeys(o.Key); err != nil {
		return err
	}
	if single, err := o.single(cmd, args[0], named); single || err != nil {
		return err
	}
	proof, err := receipts.Prove(args[0], o.keys)
	if err != nil {
		return err
	}
	report := proof.Report(args[0])
	if named {
		if report, err = o.again(cmd, args[0], proof); err != nil {
			return err
		}
	}
	if o.host.Global.JSON {
		err = o.host.PrintJSON(report)
	} else {
		err = o.print(report)
	}
	return errors.Join(err, report.Err())
}

// again compares the receipts with the data, with the limits that the header names.
func (o *checkOptions) again(cmd *cobra.Command, file string, proof *receipts.Proof) (*receipts.Report, error) {
	if proof.Header.Version == 0 {
		return proof.Report(file), nil // there is no header
	}
	ctx := cmd.Context()
	columns := o.Columns
	if len(columns) == 0 {
		columns = proof.Header.Columns
	}
	mapped, err := jsonl.ParseColumns(columns)
	if err != nil {
		return nil, err
	}
	rewards, err := o.load(ctx, proof.Header.Limits)
	if err != nil {
		return nil, err
	}
	defer rewards.Close()
	if !cmd.Flags().Changed("seed") {
		var random [8]byte
		_, _ = rand.Read(random[:]) // it never fails
		o.Seed = binary.LittleEndian.Uint64(random[:]) >> 12
	}
	return proof.Check(ctx, file, receipts.Again{
		Rewards: rewards, Data: o.Data, Columns: mapped, Share: o.Share, Seed: o.Seed, Parallel: o.Parallel, Stdin: o.host.Stdin,
	})
}

func (o *checkOptions) load(ctx context.Context, limits sandbox.Limits) (*merit.Rewards, error) {
	cfg := sandbox.DefaultConfig()
	cfg.Workers = o.Parallel
	cfg.Limits = limits
	if o.Config != "" {
		c, err := merit.LoadPartial(o.Config)
		if err != nil {
			return nil, err
		}
		c.Sandbox.Workers, c.Sandbox.Limits = o.Parallel, limits
		r, err := merit.LoadRewards(ctx, c.Sandbox, c.Rewards, rewardcmd.Options(o.host, limits)...)
		return r, c.Places.Explain("", err)
	}
	named, err := rewardcmd.Name(o.Reward, o.With)
	if err != nil {
		return nil, err
	}
	named.Batch, named.Answers = o.Batch, o.Answers
	if o.Otherwise != "" {
		next, err := rewardcmd.Name(o.Otherwise, "")
		if err != nil {
			return nil, err
		}
		named.Otherwise = &next
	}
	return rewardcmd.Load(ctx, o.host, cfg, named)
}

// single checks a receipt that stands alone, if the file is one.
func (o *checkOptions) single(cmd *cobra.Command, file string, named bool) (bool, error) {
	f, err := os.Open(file)
	if err != nil {
		return false, nil // Prove reports it
	}
	defer f.Close()
	const most = 64 << 20
	in := bufio.NewReader(io.LimitReader(f, most))
	if head, _ := in.Peek(32); !receipts.IsSingle(head) {
		return false, nil
	}
	if named {
		return true, console.Usage(cmd, "give the whole file of receipts, or check only the signature", "%s is a single receipt, which does not say the row of the data", file)
	}
	text, err := io.ReadAll(in)
	if err != nil {
		return true, &fault.Error{Boundary: fault.Data, Kind: fault.Corrupt, Where: file, What: "cannot be read", Err: err, Hint: "check the disk"}
	}
	h, r, err := receipts.CheckSingle(file, text, o.keys)
	if err != nil {
		return true, err
	}
	if o.host.Global.JSON {
		return true, o.host.PrintJSON(map[string]any{"header": h, "receipt": r})
	}
	t := headed(h)
	t.Add("receipt", strconv.Itoa(r.Number)+"  "+terminal.Clean(r.ID))
	t.Add("input", r.Input.String())
	score := "none"
	if r.Score != nil {
		score = strconv.FormatFloat(*r.Score, 'g', -1, 64)
	}
	t.Add("outcome", terminal.Clean(string(r.Outcome)))
	t.Add("score", score)
	t.Add("fuel", strconv.FormatUint(r.Fuel, 10))
	t.Add("signature", "matches")
	return true, t.Write(o.host.Stdout)
}

// headed returns a table with what a header says.
func headed(h receipts.Header) *terminal.Table {
	var t terminal.Table
	for _, r := range h.Rewards {
		t.Add("reward", terminal.Clean(r.Name), r.Digest)
	}
	t.Add("scored by", "merit "+terminal.Clean(h.Merit))
	return &t
}

func (o *checkOptions) print(r *receipts.Report) error {
	t := headed(r.Header)
	t.Add("receipts", fmt.Sprintf("%d, under %d seals with a signature that matches", r.Receipts, r.Seals))
	if r.Rows > 0 {
		t.Add("inputs", fmt.Sprintf("%d compared with the data", r.Rows))
	}
	if r.Recomputed > 0 || r.Share > 0 {
		t.Add("computed again", fmt.Sprintf("%d of %d (--share %.4g --seed %d)", r.Recomputed, r.Receipts, r.Share, r.Seed))
	}
	if r.Unrepeatable > 0 {
		t.Add("not comparable", fmt.Sprintf("%d, whose outcome the clock or a machine determined", r.Unrepeatable))
	}
	if r.Why != "" {
		t.Add("not computed again", terminal.Clean(r.Why))
	}
	if err := t.Write(o.host.Stdout); err != nil {
		return err
	}
	const most = 20
	for i, f := range r.Findings {
		if i == most {
			_, err := fmt.Fprintf(o.host.Stdout, "%d more: --json lists all\n", len(r.Findings)-most)
			return err
		}
		if _, err := fmt.Fprintf(o.host.Stdout, "differs  %s\n", terminal.Clean(f.String())); err != nil {
			return err
		}
	}
	if len(r.Findings) == 0 {
		_, err := fmt.Fprintln(o.host.Stdout, "everything agrees")
		return err
	}
	return nil
}
