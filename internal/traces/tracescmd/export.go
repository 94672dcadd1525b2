package tracescmd

import (
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/merit-rl/merit/internal/cli/console"
	"github.com/merit-rl/merit/internal/traces"
)

// newExportCmd returns merit traces export.
func newExportCmd(p *place) *cobra.Command {
	var format, out string
	cmd := console.Verb(&cobra.Command{
		Args:  cobra.ArbitraryArgs,
		Use:   "export [QUERY]",
		Short: "Export traces as lines, as a tree of files, or as trajectories",
		Long: `Export writes the traces that match a query, in one of these formats:

  jsonl         one trace per line, with all of its spans
  tree          --out is a folder: one file per trace, traces/DATE/AGENT/trace_ID.json,
                and metadata/trace_index.json, which lists them. Files appear whole,
                the index last; exporting to an existing tree adds to it
  trajectories  conversations for merit eval and trainers, one per line`,
		Example: "  merit traces export --format tree --out exported agent=planner",
		RunE: func(cmd *cobra.Command, args []string) error {
			if !slices.Contains(traces.Formats(), format) {
				return console.Usage(cmd, "use jsonl, tree or trajectories", "unknown --format %q", format)
			}
			q, err := p.query(args)
			if err != nil {
				return err
			}
			s, err := p.open(cmd.Context())
			if err != nil {
				return err
			}
			defer s.Close()
			progress := p.host.Progress("export", "traces", -1)
			defer progress.Close()
			moved, err := traces.Export(cmd.Context(), s, traces.ExportOptions{
				Query: q, Format: traces.Format(format), Out: out, Stdout: p.host.Stdout, Progress: func(done int) { progress.Set(int64(done), "") },
			})
			if err != nil {
				return err
			}
			progress.Close()
			to := p.host.Stdout
			if out == "-" {
				to = p.host.Stderr
			}
			if p.host.Global.JSON && out != "-" {
				return p.host.PrintJSON(moved)
			}
			return exported(to, moved)
		},
	})
	f := cmd.Flags()
	f.StringVar(&format, "format", string(traces.FormatLines), "jsonl, tree or trajectories")
	f.StringVar(&out, "out", "", "output file (.zst and .gz compress; trajectories can be .parquet), - for stdout, or a folder for a tree")
	console.Output(cmd, "out")
	console.Values(cmd, "format", traces.Formats()...)
	console.Needs(cmd, "out")
	return cmd
}

func exported(w io.Writer, moved *traces.Moved) error {
	text := fmt.Sprintf("%d traces, %d spans\n", moved.Traces, moved.Spans)
	if moved.Without > 0 {
		text += fmt.Sprintf("%d of them were left out because they have no messages\n", moved.Without)
	}
	_, err := io.WriteString(w, text)
	return err
}
