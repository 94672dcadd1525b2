// Package labelcmd holds the verbs of merit traces label: flags, keys and a screen, over
// internal/labels/labelling.
package labelcmd

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/merit-rl/merit/internal/cli/console"
	"github.com/merit-rl/merit/internal/labels/labelling"
	"github.com/merit-rl/merit/internal/traces/store"
	"github.com/merit-rl/merit/internal/traces/trace"
)

// place is where the verbs work.
type place struct {
	host    *console.Host
	address string
	mode    string
}

// NewCmd is the verb label with the verbs below it.
func NewCmd(h *console.Host) *cobra.Command {
	o := &askOptions{place: &place{host: h}, Rounds: 3}
	cmd := console.Verb(&cobra.Command{
		Use:   "label [QUERY...]",
		Short: "Label and compare traces",
		Long: `Label shows two traces of one task side by side, or with --mode thumbs one trace,
and asks for a key:

  pairs    1 the left is better   2 the right is better   = neither
  thumbs   1 good                 2 not good
  both     s skip   u back to the one before   f all of it   q quit

Each answer is kept at once; a rater who comes back goes on where he left off.
All raters are asked the same in the same order. The query chooses the traces,
as in merit traces list; without one, all. Pairs become scores by merit traces label
scores, and how far raters agree says merit traces label agreement.`,
		Example: "  merit traces label agent=planner since=7d --rater eve\n" +
			"  merit traces label --mode thumbs scored=false",
		Args: cobra.ArbitraryArgs,
		RunE: o.run,
	}, o)
	p := cmd.PersistentFlags()
	p.StringVar(&o.address, "store", "", "the store: a file, sqlite:FILE or postgres://… (default $MERIT_TRACES, else traces.db)")
	p.StringVar(&o.mode, "mode", string(labelling.Pairs), "what is asked: pairs or thumbs")
	cmd.AddCommand(newAgreementCmd(o.place), newScoresCmd(o.place), newListCmd(o.place))
	return cmd
}

// desk opens the store and calls f with the desk that the words choose.
func (p *place) desk(ctx context.Context, cmd *cobra.Command, words []string, f func(*labelling.Desk) error) error {
	mode := labelling.Mode(p.mode)
	if !slices.Contains([]labelling.Mode{labelling.Pairs, labelling.Thumbs}, mode) {
		return console.Usage(cmd, "use pairs or thumbs", "--mode is %q", p.mode)
	}
	q, err := trace.ParseQuery(strings.Join(words, " "), p.host.Now())
	if err != nil {
		return err
	}
	var s *store.Store
	if s, err = store.Existing(ctx, cmp.Or(p.address, p.host.Env(trace.Variable), trace.File)); err != nil {
		return err
	}
	defer s.Close()
	return f(&labelling.Desk{Store: s, Query: q, Mode: mode, Now: p.host.Now})
}
