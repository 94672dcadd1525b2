package main

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/google/renameio/v2"
)

// Between these lines of a README stands what this program writes.
const (
	opening = "<!-- numbers -->\n"
	closing = "<!-- /numbers -->"
)

// columns of a reward's table. What a machine decides is last.
var columns = []string{
	"", "trajectories", "outcomes", "mean score", "as the reference", "fuel, mean", "fuel, most", "memory", "evaluations/s", "first start", "later starts",
}

const machineColumns = 3

func (m measured) cells() []string {
	reference, rate, first, later := "–", "–", "–", "–"
	if m.compared > 0 {
		reference = fmt.Sprintf("%d of %d", m.agree, m.compared)
	}
	if m.perSecond > 0 {
		rate, first, later = fmt.Sprintf("%.0f", m.perSecond), seconds(m.firstStart), seconds(m.starts)
	}
	return []string{
		m.name, fmt.Sprint(m.trajectories), m.outcomes, score(m.mean), reference,
		units(m.fuelMean), units(m.fuelMost), mebibytes(m.memory), rate, first, later,
	}
}

func table(n *Numbers, rows []measured) string {
	var b strings.Builder
	line(&b, columns)
	b.WriteString("|---|--:|---|" + strings.Repeat("--:|", len(columns)-3) + "\n")
	for _, m := range rows {
		line(&b, m.cells())
	}
	b.WriteString("\n")
	if n.Reference != "" {
		fmt.Fprintf(&b, "The reference is %s. ", n.Reference)
	}
	fmt.Fprintf(&b, "Times: one core of %s, from sources%s.\n", processor(), load())
	return b.String()
}

func line(b *strings.Builder, cells []string) {
	b.WriteString("| " + strings.Join(cells, " | ") + " |\n")
}

// write puts text between the marks of a README.
func write(readme, text string) error {
	page, from, to, err := marked(readme)
	if err != nil {
		return err
	}
	return renameio.WriteFile(readme, []byte(page[:from]+text+page[to:]), 0o644)
}

func marked(readme string) (page string, from, to int, err error) {
	data, err := os.ReadFile(readme)
	if err != nil {
		return "", 0, 0, err
	}
	page = string(data)
	from = strings.Index(page, opening) + len(opening)
	to = strings.Index(page, closing)
	if from < len(opening) || to < from {
		return "", 0, 0, fmt.Errorf("%s: it needs the lines %q and %q, in this order, for the table", readme, strings.TrimSpace(opening), closing)
	}
	return page, from, to, nil
}

// written returns the rows of a README's table, cell by cell.
func written(readme string) ([][]string, error) {
	page, from, to, err := marked(readme)
	if err != nil {
		return nil, err
	}
	var rows [][]string
	for text := range strings.Lines(page[from:to]) {
		if text = strings.TrimSpace(text); strings.HasPrefix(text, "| ") {
			rows = append(rows, strings.Split(strings.Trim(text, "| "), " | "))
		}
	}
	if len(rows) == 0 {
		return nil, fmt.Errorf("%s: the table is empty: run this program without -check", readme)
	}
	return rows[1:], nil
}

// compare says where a README's table is not what was measured now.
func compare(readme string, rows []measured) error {
	had, err := written(readme)
	if err != nil {
		return err
	}
	if len(had) != len(rows) {
		return fmt.Errorf("%s: the table has %d rows, and %s has %d: run this program without -check", readme, len(had), numbersFile, len(rows))
	}
	var problems []error
	for i, m := range rows {
		cells := m.cells()
		if len(had[i]) != len(cells) {
			problems = append(problems, fmt.Errorf("%s: row %s has %d cells, not %d: run this program without -check", readme, m.name, len(had[i]), len(cells)))
			continue
		}
		for c := range len(cells) - machineColumns {
			if !near(had[i][c], cells[c]) {
				problems = append(problems, fmt.Errorf("%s: row %s: %s: the table says %s, and it is %s", readme, m.name, columns[c], had[i][c], cells[c]))
			}
		}
		for _, d := range m.differs[:min(len(m.differs), 5)] {
			if len(problems) > 0 {
				problems = append(problems, errors.New("  "+d))
			}
		}
	}
	return errors.Join(problems...)
}

// drift is how far fuel and memory may be from what was written: a change of the
// interpreter, or of Merit's own files in it, moves them a little.
const drift = 0.1

func near(a, b string) bool {
	if a == b {
		return true
	}
	x, unitX, okX := strings.Cut(a, " ")
	y, unitY, okY := strings.Cut(b, " ")
	if !okX || !okY || unitX != unitY || unitX != "M" && unitX != "MiB" {
		return false
	}
	p, err1 := strconv.ParseFloat(x, 64)
	q, err2 := strconv.ParseFloat(y, 64)
	return err1 == nil && err2 == nil && math.Abs(p-q) <= drift*max(p, q)
}

func score(x *float64) string {
	if x == nil {
		return "none"
	}
	return fmt.Sprintf("%.4f", *x)
}

func exact(x *float64) string {
	if x == nil {
		return "no score"
	}
	return strconv.FormatFloat(*x, 'g', -1, 64)
}

func mebibytes(bytes float64) string { return fmt.Sprintf("%.1f MiB", bytes/(1<<20)) }
func seconds(d time.Duration) string { return fmt.Sprintf("%.2f s", d.Seconds()) }

// units are millions of units of fuel, to three digits.
func units(fuel float64) string {
	m := fuel / 1e6
	return fmt.Sprintf("%.*f M", max(0, min(3, 2-int(math.Floor(math.Log10(max(m, 0.001)))))), m)
}

// load says how busy the machine was, where Linux says it: times depend on it.
func load() string {
	text, err := os.ReadFile(filepath.Join("/proc", "loadavg"))
	if err != nil {
		return ""
	}
	minute, _, _ := strings.Cut(string(text), " ")
	return ", with a load average of " + minute
}

// processor names the machine where Linux says it.
func processor() string {
	text, err := os.ReadFile(filepath.Join("/proc", "cpuinfo"))
	if err != nil {
		return "an unknown processor"
	}
	for line := range strings.Lines(string(text)) {
		if name, ok := strings.CutPrefix(line, "model name"); ok {
			return strings.Trim(name, "\t :\n")
		}
	}
	return "an unknown processor"
}
