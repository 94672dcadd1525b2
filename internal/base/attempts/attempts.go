// Package attempts estimates pass@k and pass^k from repeated attempts at tasks: the chance
// that at least one of k attempts succeeds, and that all k do.
package attempts

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/merit-rl/merit/core/stats"
)

// Most is the largest k.
const Most = 1024

// Rate is a mean over tasks with its 95 % interval.
type Rate struct {
	Name     string     `json:"name"` // such as pass@4 or pass^4
	Mean     float64    `json:"mean"`
	Interval [2]float64 `json:"interval"`
	Episodes int        `json:"episodes"` // scored attempts at the tasks
	Tasks    int        `json:"tasks"`    // tasks with at least k scored attempts
}

// Tally counts attempts by task, in the order in which tasks first appear. The zero value
// is empty.
type Tally struct {
	tasks []task
	known map[string]int
	lost  int // attempts of which the task is not known
}

type task struct {
	name, unit             string
	tried, scored, success int
}

// Add counts an attempt at a task. Attempts without a score count as neither success nor
// failure, and neither does one without a name, which was lost before its task was known.
// Tasks of one unit are not independent in intervals; an empty unit is the task itself.
func (t *Tally) Add(name, unit string, scored, success bool) {
	if name == "" {
		t.lost++
		return
	}
	i, ok := t.known[name]
	if !ok {
		if t.known == nil {
			t.known = map[string]int{}
		}
		i = len(t.tasks)
		t.known[name] = i
		t.tasks = append(t.tasks, task{name: name, unit: unit})
	}
	x := &t.tasks[i]
	x.tried++
	if scored {
		x.scored++
	}
	if scored && success {
		x.success++
	}
}

// Lacking says why k attempts are too many; it is empty if every task was attempted k times,
// lost attempts included, and some task has k scored attempts.
func (t *Tally) Lacking(k int) string {
	fewest, missing, enough := task{tried: k}, 0, false
	for _, x := range t.tasks {
		enough = enough || x.scored >= k
		missing += max(0, k-x.tried)
		if x.tried < fewest.tried {
			fewest = x
		}
	}
	switch {
	case missing > t.lost:
		return fmt.Sprintf("pass@%d needs %d attempts at every task, but there are %d at %s", k, k, fewest.tried, fewest.name)
	case !enough:
		return fmt.Sprintf("pass@%d needs %d attempts with a score at one task, and no task has them", k, k)
	}
	return ""
}

// Short returns how many tasks have fewer than k scored attempts, and so no part in pass@k.
func (t *Tally) Short(k int) (n int) {
	for _, x := range t.tasks {
		if x.scored < k {
			n++
		}
	}
	return n
}

// Estimates are pass@k and pass^k of each task that has k scored attempts.
type Estimates struct {
	Tasks, Units []string
	Any, All     []float64 // one of k attempts succeeds; all do
	Episodes     int
}

// Of returns the estimates for k.
func (t *Tally) Of(k int) (e Estimates) {
	for _, x := range t.tasks {
		if x.scored < k {
			continue
		}
		e.Tasks, e.Units = append(e.Tasks, x.name), append(e.Units, x.unit)
		e.Any = append(e.Any, 1-drawn(x.scored, x.scored-x.success, k))
		e.All = append(e.All, drawn(x.scored, x.success, k))
		e.Episodes += x.scored
	}
	return e
}

// drawn returns the chance that k attempts, drawn without replacement from n, are all among
// c of them: C(c, k) / C(n, k). It is unbiased for the probability that k independent
// attempts all are.
//
// Source: with the failures as c, Chen et al. 2021, arXiv 2107.03374, Eq. 1; with the
// successes, Yao et al. 2024, arXiv 2406.12045, section 3.
func drawn(n, c, k int) float64 {
	p := 1.0
	for i := range k {
		if c <= i {
			return 0
		}
		p *= float64(c-i) / float64(n-i)
	}
	return p
}

// Rates returns pass@k and then pass^k, with intervals over units.
func (t *Tally) Rates(ks []int) (rates []Rate) {
	for _, all := range []bool{false, true} {
		for _, k := range ks {
			e := t.Of(k)
			name, x := Any(k), e.Any
			if all {
				name, x = All(k), e.All
			}
			r := Rate{Name: name, Tasks: len(x), Episodes: e.Episodes}
			r.Mean, r.Interval[0], r.Interval[1] = stats.ClusterBy(e.keys()).Rate(x)
			rates = append(rates, r)
		}
	}
	return rates
}

// keys returns the units, or tasks where a unit is empty.
func (e Estimates) keys() []string {
	keys := slices.Clone(e.Units)
	for i, unit := range keys {
		if unit == "" {
			keys[i] = e.Tasks[i]
		}
	}
	return keys
}

// Any returns the name of pass@k.
func Any(k int) string { return "pass@" + strconv.Itoa(k) }

// All returns the name of pass^k.
func All(k int) string { return "pass^" + strconv.Itoa(k) }

// K returns the k of names of rates, each once, in ascending order.
func K(names []string) (ks []int) {
	for _, name := range names {
		digits, ok := strings.CutPrefix(strings.Replace(name, "^", "@", 1), "pass@")
		if k, err := strconv.Atoi(digits); ok && err == nil && k > 0 && !slices.Contains(ks, k) {
			ks = append(ks, k)
		}
	}
	slices.Sort(ks)
	return ks
}

// Sorted returns ks in ascending order without duplicates, and the first that is not from 1
// to [Most].
func Sorted(ks []int) (sorted []int, wrong *int) {
	for _, k := range ks {
		if k < 1 || k > Most {
			return nil, &k
		}
	}
	sorted = slices.Clone(ks)
	slices.Sort(sorted)
	return slices.Compact(sorted), nil
}
