package servecmd

import (
	"fmt"
	"sort"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/internal/cli/console"
	"github.com/merit-rl/merit/internal/cli/terminal"
	"github.com/merit-rl/merit/internal/serve/tenant"
)

type usageOptions struct {
	host *console.Host
	From string `flag:"from" usage:"start time, such as 2026-11-01 or 2026-11-01T08:00:00Z"`
	To   string `flag:"to" usage:"end time"`
}

// newUsageCmd returns the command serve usage.
func newUsageCmd(h *console.Host) *cobra.Command {
	o := &usageOptions{host: h}
	return console.Verb(&cobra.Command{
		Use:   "usage FILE...",
		Short: "Add up accounting files by tenant and key",
		Long: `Usage adds up requests, fuel and evaluations by outcome from accounting files, by tenant
and key. Give rotated files together.`,
		Example: "  merit serve usage usage.jsonl\n  merit serve usage usage.jsonl.1 usage.jsonl --from 2026-11-01 --to 2026-12-01",
		Args:    someFiles,
		RunE:    o.run,
	}, o)
}

func (o *usageOptions) run(cmd *cobra.Command, args []string) error {
	from, err := moment(cmd, "from", o.From)
	if err != nil {
		return err
	}
	to, err := moment(cmd, "to", o.To)
	if err != nil {
		return err
	}
	all, err := tenant.ReadUsage(from, to, args...)
	if err != nil {
		return err
	}
	if o.host.Global.JSON {
		return o.host.PrintJSON(append([]tenant.Usage{}, all...))
	}
	t := terminal.Table{Head: []string{"tenant", "key", "requests", "refused", "evaluations", "unscored", "fuel"}}
	for _, u := range all {
		var evaluations, unscored uint64
		for outcome, n := range u.Evaluations {
			evaluations += n
			if outcome != reward.Scored {
				unscored += n
			}
		}
		t.Add(u.Tenant, u.Key, fmt.Sprint(u.Requests), reasons(u.Refused), fmt.Sprint(evaluations), fmt.Sprint(unscored), fmt.Sprint(u.Fuel))
	}
	return t.Write(o.host.Stdout)
}

// someFiles requires at least one argument.
func someFiles(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return console.Usage(cmd, "name the file that the server's configuration sets as accounting", "%s takes at least one FILE", cmd.CommandPath())
	}
	return nil
}

// reasons formats counts by reason on one line.
func reasons(refused map[string]uint64) string {
	var list []string
	for reason, n := range refused {
		list = append(list, fmt.Sprintf("%d %s", n, reason))
	}
	sort.Strings(list)
	if len(list) == 0 {
		return "0"
	}
	return strings.Join(list, ", ")
}

// moment parses a date or a time; an empty text means no bound.
func moment(cmd *cobra.Command, flag, text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	for _, form := range []string{time.DateOnly, time.RFC3339} {
		if at, err := time.Parse(form, text); err == nil {
			return at, nil
		}
	}
	return time.Time{}, console.Usage(cmd, "write 2026-11-01 or 2026-11-01T08:00:00Z", "--%s %q is not a time", flag, text)
}
