package work

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/merit-rl/merit/internal/rubric"
	"github.com/merit-rl/merit/sdk/plugin/random"
)

// sheet is what a table is made from.
type sheet struct {
	ledger
	records []record // as in the input
}

// ledger is a kind of table: its columns are a name, a group and two figures.
type ledger struct {
	what, name, group string
	names, groups     []string
	first, main       column
}

type column struct {
	name, unit string
	low, high  float64
}

// record is a row: two figures, of which one may be missing.
type record struct {
	name, group string
	values      [2]float64
	missing     [2]bool
	needed      bool // without it an aspect could not be seen
}

// newSheet draws records: one name occurs twice, and one figure of either
// column is missing, of names that occur once.
func newSheet(t *Task, s *random.Source) {
	h := &sheet{ledger: pick(ledgers, s)}
	names := some(h.names, 7+s.Below(2), s)
	for i, name := range append(names, names[0]) {
		r := record{name: name, group: pick(h.groups, s)}
		for k, c := range []column{h.first, h.main} {
			// No whole number, so that one that was rounded can be seen.
			r.values[k] = math.Floor(c.low+float64(s.Below(int(c.high-c.low)))) + float64(11+s.Below(88))/100
			r.missing[k] = i == 1+k
		}
		r.needed = i <= 2 || i == len(names)
		h.records = append(h.records, r)
	}
	h.records[len(names)].group = h.records[0].group
	shuffle(h.records, s)
	t.Text = fmt.Sprintf("Make a table of %s from records.csv.\nColumns: %s, %s, %s, %s\nUnits: %s in %s, %s in %s\nAnswer with CSV and a header.",
		h.what, h.name, h.group, h.first.name, h.main.name, h.first.name, h.first.unit, h.main.name, h.main.unit)
	t.Inputs = []rubric.Resource{{Name: "records.csv", Kind: rubric.Table, Text: h.raw()}}
	t.make = h.write
}

func (h *sheet) raw() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s,%s,%s,%s\n", h.name, h.group, h.first.name, h.main.name)
	for _, r := range h.records {
		cells := []string{r.name, r.group}
		for k, v := range r.values {
			if r.missing[k] {
				cells = append(cells, "")
			} else {
				cells = append(cells, fmt.Sprintf("%.2f", v))
			}
		}
		b.WriteString(strings.Join(cells, ",") + "\n")
	}
	return b.String()
}

// means are those of the figures that are known, for gaps.
func (h *sheet) means() (m [2]float64) {
	for k := range m {
		sum, n := 0.0, 0
		for _, r := range h.records {
			if !r.missing[k] {
				sum, n = sum+r.values[k], n+1
			}
		}
		m[k] = math.Round(100*sum/float64(n)) / 100
	}
	return m
}

// chosen are the records that an output shows, in its order.
func (h *sheet) chosen(p profile) []record {
	rows := slices.Clone(h.records)
	if p[ofDuplicates] == duplicatesMerged {
		rows = merged(rows)
	}
	// What is needed comes first, so that few rows show it, too.
	slices.SortStableFunc(rows, func(a, b record) int { return cmp.Compare(rank(a), rank(b)) })
	switch p[ofRows] {
	case rowsTop:
		rows = rows[:5]
	case rowsEvery:
	default: // neither few nor all
		rows = rows[:6]
	}
	switch p[ofOrder] {
	case orderValue:
		slices.SortStableFunc(rows, func(a, b record) int { return cmp.Compare(b.main(), a.main()) })
	case orderName:
		slices.SortStableFunc(rows, func(a, b record) int { return cmp.Compare(a.name, b.name) })
	default: // the smallest first
		slices.SortStableFunc(rows, func(a, b record) int { return cmp.Compare(a.main(), b.main()) })
	}
	return rows
}

func rank(r record) int {
	if r.needed {
		return 0
	}
	return 1
}

// main is what rows are sorted by; rows without it come last of the largest.
func (r record) main() float64 {
	if r.missing[1] {
		return 0
	}
	return r.values[1]
}

// merged adds up what has one name.
func merged(rows []record) (all []record) {
	for _, r := range rows {
		i := slices.IndexFunc(all, func(o record) bool { return o.name == r.name })
		if i < 0 {
			all = append(all, r)
			continue
		}
		for k := range r.values {
			all[i].values[k] += r.values[k]
		}
	}
	return all
}

// resort sorts by the main figure.
func resort(rows []record, largestFirst bool) []record {
	slices.SortStableFunc(rows, func(a, b record) int {
		if largestFirst {
			a, b = b, a
		}
		return cmp.Compare(a.values[1], b.values[1])
	})
	return rows
}
