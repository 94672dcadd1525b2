package rubrics_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/internal/rubric"
	"github.com/merit-rl/merit/internal/rubric/rubrics"
	"github.com/merit-rl/merit/sandbox"
)

// usual are rules of the typical size of those in examples/rubric.
var usual = map[rubric.Language]string{
	rubric.Python: `import re

def rule(output, task):
    """The share of the sections that have a heading and at most forty words."""
    sections = re.split(r"^#+ ", output["text"], flags=re.M)[1:]
    if not sections:
        return 0.0
    good = 0
    for section in sections:
        head, _, body = section.partition("\n")
        words = re.findall(r"\w+", body)
        if head.strip() and len(words) <= 40:
            good += 1
    return good / len(sections)
`,
	rubric.JavaScript: `
// The share of the sections that have a heading and at most forty words.
function rule(output, task) {
  const sections = output.text.split(/^#+ /m).slice(1);
  if (!sections.length) return 0;
  let good = 0;
  for (const section of sections) {
    const [head, ...body] = section.split("\n");
    const words = body.join("\n").match(/\w+/g) ?? [];
    if (head.trim() && words.length <= 40) good++;
  }
  return good / sections.length;
}
`,
}

func report(i int) string {
	return strings.Repeat(fmt.Sprintf("# Part %d\n\nThe figures of week %d are as good as they were, and some are better.\n\n", i, i), 12)
}

// BenchmarkRules applies a rule to an output, in the sandbox and from the cache.
func BenchmarkRules(b *testing.B) {
	for _, l := range []rubric.Language{rubric.Python, rubric.JavaScript} {
		k := open(b, func(c *rubrics.Config, s *sandbox.Config) { s.Workers = 1 })
		w := workflow(report(1))
		r := rubric.Rule{Language: l, Code: usual[l]}
		b.Run(string(l)+"/sandbox", func(b *testing.B) {
			var fuel uint64
			for b.Loop() {
				v := k.Check(b.Context(), r, w, 0)
				require.Equal(b, reward.Scored, v.Outcome, v.Reason)
				fuel = v.Fuel
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "rules/s")
			b.ReportMetric(float64(fuel), "fuel/rule")
		})
		e := rubrics.NewEngine(k, 0)
		list := &rubric.Rubric{Criteria: []rubric.Criterion{{Name: "a", Weight: 1, Rule: r}}}
		b.Run(string(l)+"/kept", func(b *testing.B) {
			for b.Loop() {
				_, err := e.Evaluate(b.Context(), list, w)
				require.NoError(b, err)
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "rules/s")
		})
	}
}

// BenchmarkDual evaluates six outputs by two rubrics of five criteria: with new outputs each
// time, and with the same ones.
func BenchmarkDual(b *testing.B) {
	k := open(b, nil)
	two := [2]*rubric.Rubric{{}, {}}
	for i := range 10 {
		code := strings.Replace(usual[rubric.Python], "40", fmt.Sprint(10+i), 1)
		r := two[i%2]
		r.Criteria = append(r.Criteria, rubric.Criterion{Name: fmt.Sprint(i), Weight: 0.2, Rule: rubric.Rule{Language: rubric.Python, Code: code}})
	}
	for name, fresh := range map[string]bool{"fresh": true, "kept": false} {
		b.Run(name, func(b *testing.B) {
			e := rubrics.NewEngine(k, 0)
			n := 0
			for b.Loop() {
				if fresh {
					n++
				}
				w := workflow(report(6*n), report(6*n+1), report(6*n+2), report(6*n+3), report(6*n+4), report(6*n+5))
				for _, r := range two {
					got, err := e.Evaluate(b.Context(), r, w)
					require.NoError(b, err)
					require.Empty(b, got.Failures())
				}
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "dual/s")
		})
	}
}
