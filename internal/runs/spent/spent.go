// Package spent shows what runs used: CPU time, fuel, and the calls, tokens and money of
// language models, by stage and by model. Terminal, report and pages share it.
package spent

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/merit-rl/merit/core/run"
	"github.com/merit-rl/merit/internal/base/cost"
)

// Of is what a run used.
type Of struct {
	Cost     run.Cost
	CPU      run.CPU
	Currency string
	Repeated *run.Repeated // work that was done again after interruptions; nil = none
}

// Finished returns what a finished run used. The manifest may be nil.
func Finished(s *run.Summary, m *run.Manifest) Of {
	of := Of{Cost: s.Cost, CPU: s.Time.CPU, Currency: s.Currency}
	if m != nil {
		of.Repeated = m.Repeated
	}
	return of
}

// Table is what a run used as text. Columns that are empty in every row are left out.
type Table struct {
	Head []string
	Rows [][]string
}

// row is a line of a Table before the empty columns are left out.
type row struct {
	name string
	cpu  float64
	run.Spent
}

// Table returns a row for each stage that used something, their sum, a row for each model
// if there are several, and the repeated work.
func (o Of) Table() Table {
	c, t := o.Cost, o.CPU
	rows := []row{
		{"checking the reward", t.Check, c.Check}, {"playing", t.Collect, c.Collect}, {"scoring", t.Score, c.Score},
		{"advantages", t.Advantage, run.Spent{}}, {"updates", t.Update, run.Spent{}}, {"recording", t.Record, run.Spent{}},
		{"validation", t.Validate, c.Validate}, {"final tests", t.Test, c.Test},
	}
	rows = slices.DeleteFunc(rows, func(r row) bool { return r.cpu < 0.005 && r.Fuel == 0 && len(r.Models) == 0 })
	total := c.Total()
	rows = append(rows, row{"all", t.Total(), total})
	if len(total.Models) > 1 {
		for _, name := range slices.Sorted(maps.Keys(total.Models)) {
			rows = append(rows, row{"of it " + name, 0, run.Spent{Models: cost.Models{name: total.Models[name]}}})
		}
	}
	if r := o.Repeated; r != nil {
		rows = append(rows, row{"repeated after interruptions", r.CPU, r.Cost.Total()})
	}
	return o.text(rows)
}

// Uses returns a row for each use of models that is not empty, and their sum.
func Uses(currency string, names []string, of ...cost.Models) Table {
	var rows []row
	var total cost.Models
	for i, used := range of {
		total = total.Plus(used)
		if len(used) > 0 {
			rows = append(rows, row{name: names[i], Spent: run.Spent{Models: used}})
		}
	}
	return Of{Currency: currency}.text(append(rows, row{name: "all", Spent: run.Spent{Models: total}}))
}

// text formats rows.
func (o Of) text(rows []row) Table {
	all := Table{Head: []string{"cost", "CPU s", "fuel", "calls", "prompt tokens", "answer tokens", o.money()}}
	for _, r := range rows {
		u := r.Models.Total()
		all.Rows = append(all.Rows, []string{
			r.name, decimals(r.cpu, 1), Count(int64(r.Fuel)), Count(int64(u.Calls)), Count(u.Prompt), Count(u.Completion), Money(u),
		})
	}
	return all.narrow()
}

func (o Of) money() string {
	if o.Currency == "" {
		return "money"
	}
	return o.Currency
}

// narrow leaves out the columns that are empty in every row.
func (t Table) narrow() Table {
	for i := len(t.Head) - 1; i > 0; i-- {
		if slices.ContainsFunc(t.Rows, func(r []string) bool { return r[i] != "" }) {
			continue
		}
		t.Head = slices.Delete(t.Head, i, i+1)
		for k := range t.Rows {
			t.Rows[k] = slices.Delete(t.Rows[k], i, i+1)
		}
	}
	return t
}

// Line returns what the run used in a few words; empty if that is nothing.
func (o Of) Line() string {
	total := o.Cost.Total()
	u := total.Models.Total()
	var parts []string
	if u.Calls > 0 {
		parts = append(parts, fmt.Sprintf("%d calls of %s, %s + %s tokens", u.Calls, models(total.Models), cmp.Or(Count(u.Prompt), "0"), cmp.Or(Count(u.Completion), "0")))
	}
	if u.Money > 0 {
		parts = append(parts, Money(u)+" "+o.money())
	} else if u.Calls > 0 {
		parts = append(parts, "no price is set")
	}
	if total.Fuel > 0 {
		parts = append(parts, Count(int64(total.Fuel))+" fuel")
	}
	if cpu := o.CPU.Total(); cpu > 0 {
		parts = append(parts, strconv.FormatFloat(cpu, 'f', max(0, 1-int(cpu/10)), 64)+" CPU s")
	}
	return strings.Join(parts, ", ")
}

// models names the models, or counts them.
func models(m cost.Models) string {
	if len(m) > 1 {
		return fmt.Sprintf("%d models", len(m))
	}
	for name := range m {
		return name
	}
	return ""
}

// Money formats the money of a usage without its currency: "–" if the model has no price,
// empty if nothing was used.
func Money(u cost.Usage) string {
	switch {
	case u.Calls == 0 && u.Money == 0:
		return ""
	case u.Money == 0:
		return "–"
	case u.Money >= 10:
		return strconv.FormatFloat(u.Money, 'f', 2, 64)
	}
	return strconv.FormatFloat(u.Money, 'f', 4, 64)
}

// Count groups the digits of n in threes; 0 is empty.
func Count(n int64) string {
	if n == 0 {
		return ""
	}
	digits := strconv.FormatInt(n, 10)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + " " + digits[i:]
	}
	return digits
}

// decimals formats seconds; 0 is empty.
func decimals(x float64, n int) string {
	if x == 0 {
		return ""
	}
	return strconv.FormatFloat(x, 'f', n, 64)
}
