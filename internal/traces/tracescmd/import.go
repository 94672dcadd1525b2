package tracescmd

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/cli/console"
	"github.com/merit-rl/merit/internal/cli/terminal"
	"github.com/merit-rl/merit/internal/traces"
	"github.com/merit-rl/merit/internal/traces/redact"
	"github.com/merit-rl/merit/internal/traces/store"
)

// newImportCmd returns merit traces import.
func newImportCmd(p *place) *cobra.Command {
	var o traces.ImportOptions
	var rules redact.Config
	cmd := console.Verb(&cobra.Command{
		Use:   "import FILE|FOLDER",
		Short: "Import traces from files into the store",
		Long: `Import reads what export writes, and more: a file of traces, of single spans or of
trajectories, one per line, compressed or not; trajectories as Parquet or CSV; or the
folder of a tree; - means stdin. You can repeat an import: it replaces
spans that the store already has.

Import checks everything before it stores anything, and lists all problems. With
--skip-bad, it omits, lists and counts unusable entries. It redacts secrets by rules before
they reach the disk; --redact-off names rules to turn off, or all.`,
		Example: "  merit traces import exported.jsonl",
		Args:    console.Exactly("FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := redact.New(rules)
			if err != nil {
				return asFlags(err)
			}
			s, err := store.Open(cmd.Context(), p.where())
			if err != nil {
				return err
			}
			defer s.Close()
			progress := p.host.Progress("import", "spans", -1)
			defer progress.Close()
			o.Path, o.Stdin, o.Progress = args[0], p.host.Stdin, func(done int) { progress.Set(int64(done), "") }
			moved, err := traces.Import(cmd.Context(), r.Sink(s), o)
			if err != nil {
				return err
			}
			progress.Close()
			return p.imported(moved, r.Found())
		},
	})
	f := cmd.Flags()
	f.BoolVar(&o.SkipBad, "skip-bad", false, "omit unusable entries")
	f.StringSliceVar(&rules.Off, "redact-off", nil, "redaction rules to turn off: "+strings.Join(append(redact.Rules(), "all"), ", "))
	f.StringSliceVar(&rules.Keys, "redact-key", nil, "further field names whose values are redacted (repeatable)")
	f.StringToStringVar(&rules.Patterns, "redact-pattern", nil, "NAME=EXPRESSION: redact what matches (repeatable)")
	console.Values(cmd, "redact-off", append(redact.Rules(), "all")...)
	return cmd
}

func (p *place) imported(moved *traces.Moved, found map[string]uint64) error {
	if p.host.Global.JSON {
		return p.host.PrintJSON(struct {
			*traces.Moved
			Redacted map[string]uint64 `json:"redacted"`
		}{moved, found})
	}
	if err := exported(p.host.Stdout, moved); err != nil {
		return err
	}
	for _, rule := range slices.Sorted(maps.Keys(found)) {
		fmt.Fprintf(p.host.Stdout, "redacted %d × %s\n", found[rule], rule)
	}
	p.host.Notes(moved.Notes)
	if moved.Skipped.Count > 0 {
		fmt.Fprintf(p.host.Stderr, "skipped %d:\n  %s\n", moved.Skipped.Count, terminal.Clean(moved.Skipped.List()))
	}
	return nil
}

// asFlags replaces configuration keys in errors of package redact with flag names.
func asFlags(err error) error {
	for _, e := range terminal.Flatten(err) {
		if f := fault.As(e); f != nil {
			f.Boundary = fault.CLI
			f.Where = "--redact-" + strings.NewReplacer("keys[", "key[", "patterns.", "pattern ").Replace(f.Where)
		}
	}
	return err
}
