package creditbench

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/merit-rl/merit/core/stats"
)

// Reference is the estimator that the others are compared with, seed by seed.
const Reference = "gigpo"

// Table returns the cells of one world and size of groups, the best learner first.
func (r *Results) Table(world string, members int) (head []string, cells [][]string) {
	head = []string{"estimator", "right sign", "rank correlation", "bias", "noise", "success while learning", "against " + Reference, "p", "success at the end"}
	var rows []Row
	for _, row := range r.Rows {
		if row.World == world && row.Members == members {
			rows = append(rows, row)
		}
	}
	reference := slices.IndexFunc(rows, func(row Row) bool { return row.Estimator == Reference })
	var areas []float64
	if reference >= 0 {
		areas = rows[reference].areas
	}
	slices.SortStableFunc(rows, func(a, b Row) int { return cmp.Compare(b.Area.Mean, a.Area.Mean) })
	for _, row := range rows {
		against, p := "", ""
		if areas != nil && row.Estimator != Reference {
			d := difference(row.areas, areas)
			v := over(slices.Clone(d))
			against, p = fmt.Sprintf("%+.1f [%+.1f, %+.1f]", 100*v.Mean, 100*v.Low, 100*v.High), fmt.Sprintf("%.2g", stats.SignedRank(d))
		}
		cells = append(cells, []string{
			row.Estimator, row.Sign.percent(), row.Rank.number(), row.Bias.number(), row.Noise.number(), row.Area.interval(), against, p, row.Last.percent(),
		})
	}
	return head, cells
}

func difference(a, b []float64) []float64 {
	d := make([]float64, len(a))
	for i := range a {
		d[i] = a[i] - b[i]
	}
	return d
}

func (v Value) percent() string { return v.or(fmt.Sprintf("%.0f %%", 100*v.Mean)) }
func (v Value) number() string  { return v.or(fmt.Sprintf("%.2f", v.Mean)) }
func (v Value) interval() string {
	return v.or(fmt.Sprintf("%.1f %% [%.1f, %.1f]", 100*v.Mean, 100*v.Low, 100*v.High))
}

func (v Value) or(text string) string {
	if v.Seeds == 0 {
		return "–"
	}
	return text
}

// Summary returns the cells of a table with the mean success while learning over all worlds,
// by size of the groups, the best of the largest groups first.
func (r *Results) Summary() (head []string, cells [][]string) {
	head = []string{"estimator"}
	for _, m := range r.Members {
		head = append(head, fmt.Sprintf("groups of %d", m))
	}
	means := map[string][]float64{}
	var names []string
	for _, row := range r.Rows {
		if means[row.Estimator] == nil {
			means[row.Estimator] = make([]float64, len(r.Members))
			names = append(names, row.Estimator)
		}
		means[row.Estimator][slices.Index(r.Members, row.Members)] += row.Area.Mean / float64(len(r.Worlds))
	}
	last := len(r.Members) - 1
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(means[b][last], means[a][last]) })
	for _, name := range names {
		line := []string{name}
		for _, x := range means[name] {
			line = append(line, fmt.Sprintf("%.1f %%", 100*x))
		}
		cells = append(cells, line)
	}
	return head, cells
}

// WritePage writes the results as a Markdown page.
func (r *Results) WritePage(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, intro, r.Seeds)
	b.WriteString("\n## All worlds\n\nThe mean success while learning, over the worlds:\n\n")
	markdown(&b, r.Summary)
	for _, world := range r.Worlds {
		fmt.Fprintf(&b, "\n## %s%s\n\n%s. %d states, %d actions, at most %d steps.\n", strings.ToUpper(world.Name[:1]), world.Name[1:], capital(world.Title), world.States(), world.Actions, world.Horizon)
		for _, m := range r.Members {
			fmt.Fprintf(&b, "\nGroups of %d:\n\n", m)
			markdown(&b, func() ([]string, [][]string) { return r.Table(world.Name, m) })
		}
	}
	b.WriteString(limits)
	for _, x := range r.LeftOut {
		fmt.Fprintf(&b, "- `%s` is left out: %s.\n", x.Name, x.Why)
	}
	for _, x := range r.Programs {
		fmt.Fprintf(&b, "- `%s` is a program in the sandbox, %s.\n", x.Name, x.Digest)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

func markdown(b *strings.Builder, table func() ([]string, [][]string)) {
	head, cells := table()
	fmt.Fprintf(b, "| %s |\n|%s\n", strings.Join(head, " | "), strings.Repeat("---|", len(head)))
	for _, line := range cells {
		fmt.Fprintf(b, "| %s |\n", strings.Join(line, " | "))
	}
}

const intro = `# Estimators where the answer is known

In a small world, dynamic programming computes how much every action raises the chance of a success. This page
compares the estimators with that number, and trains a policy with each. One command writes it, in about ten
minutes on two cores:

    merit advantages measure --out docs/credit-bench.md --force

[Credit assignment](credit-assignment.md) explains the estimators.

| column | meaning |
|---|---|
| right sign | the share of steps whose advantage has the right sign, among the steps that changed the chance of a success. An advantage of 0 counts as half |
| rank correlation | Spearman's correlation with the exact advantages, over steps |
| bias | the error that remains however many episodes are played, relative to the size of the exact advantages. A common factor does not count |
| noise | the error that more episodes average away, relative to the same |
| success while learning | the mean chance of a success over 30,000 environment steps of training, computed exactly, with a 95 %% interval over seeds |
| against gigpo | the difference from gigpo, paired by seed, in percentage points; p by Wilcoxon's signed-rank test, for each comparison alone |

The first four columns use random policies, %d of them: each plays eight batches of 64 episodes. Training begins
with equal chances for all actions and uses a table of preferences without a network, with the same learning rate
for all estimators. Advantages are scaled to a root mean square of 1. All estimators have the settings of a new
configuration; none was tuned. The critic of ` + "`gae`" + ` is exact in these worlds: no real critic is as good.
`

const limits = `
## Limits

- The worlds have at most a few hundred states, and an episode ends with a success or without one.
- A table learns each state by itself. A network generalizes, which helps noisy estimators more.
- With groups of equal size, ` + "`rloo`, `lightning` and `grpo`" + ` with ` + "`mean_norm`" + ` differ by a factor only.
`
