package command

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/run"
	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/internal/fleet"
	"github.com/merit-rl/merit/internal/serve"
	"github.com/merit-rl/merit/internal/telemetry"
	"github.com/merit-rl/merit/internal/telemetry/exporter"
	"github.com/merit-rl/merit/internal/telemetry/meter"
)

const metricsIntro = `# Metrics

Every figure that Merit measures: of a training run in its files, in TensorBoard and in Prometheus, and of servers
in Prometheus. [Operating a training run](../operations.md) explains what the figures of a run mean and when to
react; [monitoring](../serving-monitoring.md) and the [fleet reference](../fleet-reference.md) explain those of
servers.

Three servers answer ` + "`GET /metrics`" + ` in the format of Prometheus: ` + "`merit serve rewards`, `merit train --metrics`\nand `merit fleet worker --metrics`" + `. The other servers have no metrics. The three also have ` + "`go_…` and `process_…`" + `, which describe Go's runtime and the process.
A name never changes its meaning.
`

// metricsPage lists every metric, from its declaration.
func metricsPage(t *testing.T) []byte {
	c := comments{t, fieldComments(t, "core/run")}
	maps.Copy(c.of, fieldComments(t, "internal/base/cost"))
	maps.Copy(c.of, fieldComments(t, "internal/base/sampling"))
	b := bytes.NewBufferString(metricsIntro)
	b.WriteString("\n## Iterations of a run\n\n" +
		"Each line of `metrics.jsonl` has these numbers. A slash separates levels; the name is also the tag in TensorBoard.\n" +
		"`NAME` is the key of a map or the name of a list element, which the metric in Prometheus has as its label `name`.\n" +
		"All metrics in Prometheus are gauges. Absent numbers are 0, or do not apply to the run.\n\n")
	c.table(b, iterationOnly(), exporter.Name)
	b.WriteString("\n`metrics/NAME` are figures that the environment or the reward measures under its own name, such as those of the\n" +
		"[built-in environments](../environments.md). `alarms/NAME` are [red flags](../operations.md#red-flags).\n")
	b.WriteString("\n## Evaluations\n\n" +
		"An evaluation has these numbers: `baseline`, `trained` and their `greedy` in `summary.json`, `score` in a file of\n" +
		"`merit policy measure --out`, and each evaluation of a run in Prometheus, whose label `what` says which one.\n\n")
	c.table(b, telemetry.Fields(run.Score{}), exporter.EvaluationName)
	b.WriteString("\n## Summary of a run\n\n`summary.json` has these numbers besides those of evaluations.\n\n")
	c.table(b, summaryOnly(), nil)
	for _, s := range []struct {
		title, about string
		metrics      []*meter.Metric
	}{
		{"Progress of a run", "`merit train --metrics` also serves:", exporter.Metrics()},
		{"Fleet of a run", "`merit train --fleet --metrics` also serves these. While `merit_fleet_up` is 0, the gauges of queues and workers are absent.", fleet.RunMetrics()},
		{"Worker", "`merit fleet worker --metrics` serves:", fleet.WorkerMetrics()},
		{"Reward server", "`merit serve rewards` serves these. Tenants see only series with their name in the label `tenant`; operators see all.", serve.Metrics()},
	} {
		fmt.Fprintf(b, "\n## %s\n\n%s\n\n| metric | type | labels | meaning |\n|---|---|---|---|\n", s.title, s.about)
		for _, m := range s.metrics {
			fmt.Fprintf(b, "| `%s` | %s | %s | %s |\n", m.Name, m.Kind, code(m.Labels), sentence(m.Help))
		}
	}
	return b.Bytes()
}

// iterationOnly returns the numbers of an iteration, without those that only a summary has.
func iterationOnly() (all []telemetry.Field) {
	for _, f := range telemetry.Fields(run.Iteration{}) {
		if f.Name() != "time/cpu/test" && !strings.HasPrefix(f.Name(), "cost/test/") {
			all = append(all, f)
		}
	}
	return all
}

// summaryOnly returns the numbers of a summary that are not those of an evaluation.
func summaryOnly() (all []telemetry.Field) {
	for _, f := range telemetry.Fields(run.Summary{}) {
		if !slices.Contains([]string{"baseline", "trained", "rewards"}, f.Path[0]) {
			all = append(all, f)
		}
	}
	return all
}

// sentence makes a text one sentence of a table.
func sentence(text string) string {
	text = strings.TrimSuffix(cell(text), ".")
	return strings.ToUpper(text[:1]) + text[1:]
}

func code(words []string) string {
	if len(words) == 0 {
		return ""
	}
	return "`" + strings.Join(words, "`, `") + "`"
}

// comments are the comments of fields, as Type.Field.
type comments struct {
	t  *testing.T
	of map[string]string
}

func (c comments) table(b *bytes.Buffer, fields []telemetry.Field, name func(telemetry.Field) string) {
	head := "| number | Prometheus | meaning |\n|---|---|---|\n"
	if name == nil {
		head = "| number | meaning |\n|---|---|\n"
	}
	b.WriteString(head)
	for _, f := range fields {
		meaning := c.of[f.In.Name()+"."+f.Go]
		require.NotEmpty(c.t, meaning, "the field %s.%s of package %s needs a comment: it is the meaning of %s in docs/reference/metrics.md", f.In.Name(), f.Go, f.In.PkgPath(), f.Name())
		switch f.Path[len(f.Path)-1] {
		case "low":
			meaning = "lower " + meaning
		case "high":
			meaning = "upper " + meaning
		}
		prometheus := ""
		if name != nil {
			prometheus = "`" + name(f) + "` | "
		}
		fmt.Fprintf(b, "| `%s` | %s%s |\n", f.Name(), prometheus, sentence(meaning))
	}
}

// fieldComments returns the comment of each field of a package's structs: the one behind it, else
// the one above it.
func fieldComments(t *testing.T, folder string) map[string]string {
	files, err := filepath.Glob(filepath.Join(testneeds.Root(), folder, "*.go"))
	require.NoError(t, err)
	all := map[string]string{}
	for _, path := range files {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
		require.NoError(t, err)
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			if s, ok := spec.Type.(*ast.StructType); ok {
				for _, f := range s.Fields.List {
					text := f.Comment.Text()
					if text == "" {
						text = f.Doc.Text()
					}
					for _, name := range f.Names {
						all[spec.Name.Name+"."+name.Name] = strings.TrimPrefix(text, name.Name+" is ")
					}
				}
			}
			return true
		})
	}
	return all
}
