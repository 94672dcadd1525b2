package tracescmd

import (
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/merit-rl/merit/internal/cli/console"
	"github.com/merit-rl/merit/internal/cli/terminal"
	"github.com/merit-rl/merit/internal/traces"
)

// newExportCmd returns merit traces export.
func newExportCmd(p *place) *cobra.Command {
	var format, out string
	cmd := console.Verb(&cobra.Command{
		Args:  cobra.ArbitraryArgs,
		Use:   "export [QUERY]",
		Short: "Write traces as lines, as a tree of files, or as trajectories",
		Long: `Export writes the traces that match a query:

  jsonl         one trace per line, with all of its spans
  tree          --out is a folder: traces/DATE/AGENT/trace_ID.json, one file per trace,
                and metadata/trace_index.json, which lists them. Files are written
                atomically, the index last; export adds to an existing tree
  trajectories  conversations as merit eval and trainers read them, one per line
  atif          --out is a new folder: ID/trajectory.json, one document of Harbor's ATIF 1.7
                per trace; with its rewards, if it was scored`,
		Example: "  merit traces export --format tree --out exported agent=planner\n  merit traces export --format atif --out exported",
		RunE: func(cmd *cobra.Command, args []string) error {
			if !slices.Contains(traces.Formats(), format) {
				return console.Usage(cmd, "use jsonl, tree, trajectories or atif", "--format %q is not a format", format)
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
	f.StringVar(&format, "format", string(traces.FormatLines), "jsonl, tree, trajectories or atif")
	f.StringVar(&out, "out", "", "file to write: compressed if it ends in .zst or .gz, trajectories as Parquet if it ends in .parquet; - is stdout; for a tree and for atif, a folder")
	console.Output(cmd, "out")
	console.Values(cmd, "format", traces.Formats()...)
	console.Needs(cmd, "out")
	return cmd
}

func exported(w io.Writer, moved *traces.Moved) error {
	text := terminal.Count(moved.Traces, "trace") + ", " + terminal.Count(moved.Spans, "span") + "\n"
	if moved.Without > 0 {
		text += fmt.Sprintf("omitted because they contain no messages: %d\n", moved.Without)
	}
	_, err := io.WriteString(w, text)
	return err
}
