package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/cli/console"
	"github.com/merit-rl/merit/internal/cli/terminal"
	"github.com/merit-rl/merit/internal/data/interchange"
	"github.com/merit-rl/merit/internal/data/jsonl"
	"github.com/merit-rl/merit/internal/data/row"
)

type convertOptions struct {
	host    *console.Host
	Columns []string `flag:"map" usage:"NAME=COLUMN,…: take fields, such as ground_truth, from other columns (repeatable)"`
	SkipBad bool     `flag:"skip-bad" usage:"omit lines that cannot be used"`

	To       string `flag:"to" usage:"atif: OUT is a new folder for documents of ATIF 1.7"`
	Prefixes bool   `flag:"prefixes" usage:"one row up to each answer of a conversation, so that a reward can score the steps on the way"`
}

func newConvertCmd(h *console.Host) *cobra.Command {
	o := &convertOptions{host: h}
	cmd := console.Verb(&cobra.Command{
		Use:   "convert IN OUT",
		Short: "Convert trajectories or results to another format",
		Long: `Convert reads JSON Lines, Parquet, CSV or TSV; - means stdin. It recognizes the files of other
tools by their content, and folders of Harbor's trials: docs/interchange.md lists them. The name of OUT determines
the output format: Parquet for .parquet, text tables for .csv and .tsv, and otherwise
JSON Lines, compressed if the name ends in .zst or .gz; - means stdout.

Parquet loses no value: a value that fits no column type is stored as JSON in the column
merit_json, from which Merit reads it again. In CSV, a value that is not text is written
as JSON.

With --prefixes, each conversation becomes several: up to its first answer and what follows
it, up to the second, and so on. Their ids end in -p1, -p2 and so on; the last one is whole.

With --to atif, OUT is a new folder, and each trajectory becomes OUT/ID/trajectory.json, a document of
Harbor's ATIF 1.7.`,
		Example: "  merit convert answers.csv answers.jsonl --map prompt=question,completion=answer\n  merit convert trajectories.jsonl.zst trajectories.parquet\n  merit convert episodes.jsonl prefixes.jsonl --prefixes\n  merit convert trajectories.jsonl trials --to atif",
		Args:    console.Exactly("IN", "OUT"),
		RunE:    o.run,
	}, o)
	console.OutputArg(cmd, 1)
	console.Values(cmd, "to", "atif")
	return cmd
}

func (o *convertOptions) run(cmd *cobra.Command, args []string) error {
	if o.To != "" && o.To != "atif" {
		return console.Usage(cmd, "use atif, or name a file", "--to %q is not a format", o.To)
	}
	columns, err := jsonl.ParseColumns(o.Columns)
	if err != nil {
		return asFlags(err)
	}
	in, err := jsonl.Open(args[0], o.host.Stdin)
	if err != nil {
		return err
	}
	defer in.Close()
	in.Map(columns)
	out, err := o.create(args[1])
	if err != nil {
		return err
	}
	defer out.drop()
	n, bad, err := o.copy(cmd.Context(), in, out.put)
	if wrong := bad.Err(in.Name()); wrong != nil && !o.SkipBad {
		err = errors.Join(withFlag(wrong, "--skip-bad omits these"), err)
	}
	if err != nil {
		return err
	}
	if err := out.close(); err != nil {
		return err
	}
	if bad.Count > 0 {
		fmt.Fprintf(o.host.Stderr, "skipped:%s\n", terminal.Clean(bad.List()))
	}
	o.host.Notes(in.Notes())
	if args[1] != "-" && !o.host.Global.Quiet {
		_, err = fmt.Fprintf(o.host.Stdout, "%s  %d rows\n", args[1], n)
	}
	return err
}

// converted is where rows go.
type converted struct {
	put   func(row []byte, number int) error
	close func() error
	drop  func()
}

// create makes the output: a file, or a folder of documents.
func (o *convertOptions) create(path string) (*converted, error) {
	switch {
	case o.To == "":
		w, err := jsonl.Create(path, o.host.Stdout)
		if err != nil {
			return nil, err
		}
		put := func(row []byte, _ int) error {
			_, err := w.Write(append(row[:len(row):len(row)], '\n'))
			return err
		}
		return &converted{put, w.Close, w.Drop}, nil
	case path == "-":
		return nil, &fault.Error{Boundary: fault.CLI, Kind: fault.Invalid, What: "--to atif needs a folder to write to", Hint: "name a new folder instead of -"}
	}
	to, err := interchange.CreateTrials(path)
	if err != nil {
		return nil, err
	}
	put := func(text []byte, number int) error {
		t, err := row.Decode(text, number)
		if err != nil {
			return err
		}
		return to.Put(t)
	}
	return &converted{put, func() error { return nil }, func() {}}, nil
}

// copy puts the lines of in.
func (o *convertOptions) copy(ctx context.Context, in *jsonl.Reader, put func([]byte, int) error) (n int64, bad jsonl.Bad, err error) {
	bad.Unit = in.Unit()
	progress := o.host.Progress("convert", in.Unit()+"s", -1)
	defer progress.Close()
	for {
		line, err := in.Line()
		if errors.Is(err, io.EOF) {
			return n, bad, nil
		} else if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return n, bad, err
		}
		text, err := in.Row(line)
		if err != nil {
			bad.AddLine(line, err)
			continue
		}
		rows := [][]byte{text}
		if o.Prefixes {
			if rows, err = prefixes(text, line.Number-1); err != nil {
				bad.AddLine(line, err)
				continue
			}
		}
		for _, row := range rows {
			err := put(row, line.Number)
			if f := fault.As(err); f != nil && f.Boundary == fault.Data {
				bad.AddLine(line, err)
				continue
			} else if err != nil {
				return n, bad, err
			}
			n++
		}
		progress.SetTotal(in.Estimate())
		progress.Set(n, "")
	}
}

// prefixes returns the rows of a conversation up to each of its answers.
func prefixes(row []byte, number int) (rows [][]byte, err error) {
	whole, err := rl.DecodeTrajectory(row, number)
	if err != nil {
		return nil, err
	}
	index := whole.AssistantIndex(nil)
	for i, n := 0, 0; i < len(index); i++ {
		last := i == len(index)-1
		if index[i] >= 0 {
			n++
		}
		if n == 0 || !last && index[i+1] < 0 {
			continue
		}
		t := prefix(whole, i+1)
		t.ID = fmt.Sprintf("%s-p%d", whole.ID, n)
		if last {
			t.StopReason, t.Error = whole.StopReason, whole.Error
		}
		row, err := json.Marshal(t)
		if err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// prefix returns the first n messages of a conversation with their steps, without what was found
// out about the whole of it.
func prefix(whole *rl.Trajectory, n int) *rl.Trajectory {
	t := &rl.Trajectory{
		Task: whole.Task, Seed: whole.Seed, Messages: whole.Messages[:n], PromptMessages: whole.PromptMessages, AsText: whole.AsText,
		GroundTruth: whole.GroundTruth, Metadata: whole.Metadata, Own: whole.Own,
	}
	for _, s := range whole.Steps {
		if s.MessageCount < n {
			s.Credit = nil
			t.Steps = append(t.Steps, s)
		}
	}
	return t
}
