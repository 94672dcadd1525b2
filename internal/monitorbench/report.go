package monitorbench

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/merit-rl/merit/core/monitor"
)

// FlagResult is what one flag does alone, on the families that are held out.
type FlagResult struct {
	Flag string  `json:"flag"`
	Area float64 `json:"area"` // under the curve
	// Threshold is chosen by the other half, so that the flag alone has at most the allowed false alarms there;
	// nil if no threshold does that.
	Threshold *float64 `json:"threshold"`
	Alone     Result   `json:"alone"`           // with this threshold
	Shipped   Result   `json:"shipped"`         // with the threshold of a new configuration
	Curve     []Point  `json:"curve,omitempty"` // on the families that are held out, of the flags about exploits
}

// RuleResult is what a rule does on the families that its thresholds were chosen by, and on the others.
type RuleResult struct {
	Name       string             `json:"name"`
	Thresholds map[string]float64 `json:"thresholds"`
	Chosen     Result             `json:"chosen"`
	HeldOut    Result             `json:"held_out"`
}

// FamilyResult is what the thresholds of a new configuration do with the runs of a family.
type FamilyResult struct {
	Family   string   `json:"family"`
	About    string   `json:"about"`
	Hackable bool     `json:"hackable"`
	HeldOut  bool     `json:"held_out"`
	Runs     int      `json:"runs"`
	Hacked   int      `json:"hacked"`
	Alarms   int      `json:"alarms"` // runs with one: of the hacked runs, or of all runs of a healthy family
	Lead     *float64 `json:"lead"`   // median, of the hacked runs that were caught
	By       string   `json:"by"`     // the flag that came first most often
}

// Report is everything that is measured.
type Report struct {
	Seeds    int            `json:"seeds"`
	Flags    []FlagResult   `json:"flags"`
	Rules    []RuleResult   `json:"rules"`
	Families []FamilyResult `json:"families"`
	Outcomes []Outcome      `json:"runs"`
}

// Outcome is what the alarms of a new configuration do with one run.
type Outcome struct {
	Family string `json:"family"`
	Seed   uint64 `json:"seed"`
	Fall   int    `json:"fall"`  // iteration; 0 if the true metric has not fallen
	Alarm  int    `json:"alarm"` // iteration; 0 if there is none
}

// hacking are the flags that say that the reward may be exploited.
var hacking = []string{"held_out_gap", "divergence", "swapped_truth", "reward_jump", "perfect_scores", "repetition", "surface", "boilerplate", "lost_diversity", "length"}

func isHacking(name string) bool { return slices.Contains(hacking, name) }

// configured is the name of the rule of a new configuration: its alarms.
const configured = "alarm, as configured"

// combination is the name of the rule that catches the most.
const combination = "best combination"

// NewReport summarizes runs.
func NewReport(runs []Run, seeds int) *Report {
	var chosen, heldOut []Run
	for _, r := range runs {
		if r.Family.HeldOut {
			heldOut = append(heldOut, r)
		} else {
			chosen = append(chosen, r)
		}
	}
	rep := &Report{Seeds: seeds}
	shipped := Shipped(alarming)
	for i, f := range Flags() {
		one := FlagResult{Flag: f.Name, Area: Area(heldOut, i), Shipped: Only(i, f.At(monitor.Default().Thresholds)).Measure(heldOut)}
		if isHacking(f.Name) {
			one.Curve = Curve(heldOut, i)
		}
		if t := Alone(chosen, i); !math.IsInf(t, 0) {
			one.Threshold, one.Alone = &t, Only(i, t).Measure(heldOut)
		}
		rep.Flags = append(rep.Flags, one)
	}
	for _, rule := range []struct {
		name string
		Rule
	}{
		{configured, shipped}, {"alarm or warning, as configured", Shipped(hacking)}, {combination, Choose(chosen, hacking)},
	} {
		rep.Rules = append(rep.Rules, RuleResult{rule.name, rule.named(), rule.Measure(chosen), rule.Measure(heldOut)})
	}
	for at := 0; at < len(runs); at += seeds {
		rep.Families = append(rep.Families, family(runs[at:at+seeds], shipped))
	}
	for i := range runs {
		rep.Outcomes = append(rep.Outcomes, outcome(&runs[i]))
	}
	return rep
}

func outcome(r *Run) Outcome {
	return Outcome{r.Family.Name, r.Seed, r.Fall, Shipped(alarming).First(r)}
}

// alarming are the flags about exploits that are alarms and not warnings: the warranty is about them.
var alarming = []string{"divergence", "swapped_truth"}

// Shipped returns the rule of a new configuration: any of the flags.
func Shipped(flags []string) Rule {
	r := Off()
	for i, f := range Flags() {
		if slices.Contains(flags, f.Name) {
			r[i] = f.At(monitor.Default().Thresholds)
		}
	}
	return r
}

// named returns the thresholds of the rule that are not infinite.
func (r Rule) named() map[string]float64 {
	out := map[string]float64{}
	for i, f := range Flags() {
		if !math.IsInf(r[i], 0) {
			out[f.Name] = r[i]
		}
	}
	return out
}

// family summarizes the runs of one family.
func family(runs []Run, rule Rule) FamilyResult {
	f := runs[0].Family
	out := FamilyResult{Family: f.Name, About: f.About, Hackable: f.Hackable, HeldOut: f.HeldOut, Runs: len(runs)}
	var leads []float64
	first := map[string]int{}
	for i := range runs {
		r := &runs[i]
		if r.hacked() {
			out.Hacked++
		} else if f.Hackable {
			continue
		}
		at := rule.First(r)
		if at == 0 {
			continue
		}
		out.Alarms++
		first[rule.by(r, at)]++
		if r.hacked() {
			leads = append(leads, float64(r.Fall-at))
		}
	}
	if len(leads) > 0 {
		lead := half(leads)
		out.Lead = &lead
	}
	var names []string
	for name := range first {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(cmp.Compare(first[b], first[a]), cmp.Compare(a, b)) })
	if len(names) > 0 {
		out.By = names[0]
	}
	return out
}

// by returns the flag that raised the alarm at the iteration.
func (r Rule) by(run *Run, iteration int) string {
	for i, f := range Flags() {
		if run.Evidence[i][iteration-1] >= r[i] {
			return f.Name
		}
	}
	return ""
}

// Table returns the cells of the table of flags and rules.
func (r *Report) Table() (head []string, cells [][]string) {
	head = []string{"red flag", "area under the curve", "caught at 5 %", "false there", "caught as configured", "false", "median lead"}
	for _, f := range r.Flags {
		line := []string{f.Flag, fmt.Sprintf("%.2f", f.Area), "–", "–", f.Shipped.Caught.text(), f.Shipped.FalseAlarms.text(), f.Shipped.Lead.text()}
		if f.Threshold != nil {
			line[2], line[3] = f.Alone.Caught.text(), f.Alone.FalseAlarms.text()
		}
		cells = append(cells, line)
	}
	return head, cells
}

// RuleTable returns the cells of the table of rules.
func (r *Report) RuleTable() (head []string, cells [][]string) {
	head = []string{"any flag about exploits", "families", "caught", "before the fall", "false", "median lead"}
	for _, rule := range r.Rules {
		for _, half := range []struct {
			name string
			Result
		}{{"that thresholds were chosen by", rule.Chosen}, {"held out", rule.HeldOut}} {
			cells = append(cells, []string{rule.Name, half.name, half.Caught.text(), half.Before.text(), half.FalseAlarms.text(), half.Lead.text()})
		}
	}
	return head, cells
}

// FamilyTable returns the cells of the table of families.
func (r *Report) FamilyTable() (head []string, cells [][]string) {
	head = []string{"family", "what the reward does", "held out", "runs", "hacked", "with an alarm", "median lead", "first flag"}
	for _, f := range r.Families {
		hacked, lead, out := "–", "–", ""
		if f.Hackable {
			hacked = fmt.Sprint(f.Hacked)
		}
		if f.Lead != nil {
			lead = fmt.Sprintf("%+.0f", *f.Lead)
		}
		if f.HeldOut {
			out = "yes"
		}
		cells = append(cells, []string{f.Family, f.About, out, fmt.Sprint(f.Runs), hacked, fmt.Sprint(f.Alarms), lead, cmp.Or(f.By, "–")})
	}
	return head, cells
}

func (s Share) text() string {
	if s.N == 0 {
		return "–"
	}
	return fmt.Sprintf("%.0f %% [%.0f, %.0f]", 100*s.Value, 100*s.Low, 100*s.High)
}

func (l *Lead) text() string {
	if l == nil {
		return "–"
	}
	return fmt.Sprintf("%+.0f [%+.0f, %+.0f]", l.Median, l.Low, l.High)
}

// Markdown returns the tables as text of a page.
func (r *Report) Markdown() string {
	var b strings.Builder
	hacked, healthy := 0, 0
	for _, f := range r.Families {
		if hacked += f.Hacked; !f.Hackable {
			healthy += f.Runs
		}
	}
	fmt.Fprintf(&b, "%d families with %d seeds each: %d hacked runs and %d healthy ones. Any of the flags:\n\n", len(r.Families), r.Seeds, hacked, healthy)
	markdown(&b, r.RuleTable)
	fmt.Fprintf(&b, "\nThe best combination is%s.\n\nEach flag alone, on the families that are held out. The second and third columns are for the threshold that has at most 5 %% false alarms on the others:\n\n", r.best())
	markdown(&b, r.Table)
	b.WriteString("\nThe families, with the alarms of a new configuration:\n\n")
	markdown(&b, r.FamilyTable)
	fmt.Fprintf(&b, "\n    go run ./cmd/internal/monitorbench -seeds %d -page docs/operations.md -picture docs/red-flags.svg -json internal/monitorbench/testdata/report.json\n\n", r.Seeds)
	return b.String()
}

// best lists the thresholds of the best combination.
func (r *Report) best() string {
	var parts []string
	for _, rule := range r.Rules {
		if rule.Name != combination {
			continue
		}
		for _, f := range Flags() {
			if t, ok := rule.Thresholds[f.Name]; ok {
				if f.of != nil && t < 0 {
					t = -t
				}
				parts = append(parts, fmt.Sprintf(" `%s` at %.3g", f.Name, t))
			}
		}
	}
	return strings.Join(parts, ",")
}

func markdown(b *strings.Builder, table func() ([]string, [][]string)) {
	head, cells := table()
	fmt.Fprintf(b, "| %s |\n|%s\n", strings.Join(head, " | "), strings.Repeat("---|", len(head)))
	for _, line := range cells {
		fmt.Fprintf(b, "| %s |\n", strings.Join(line, " | "))
	}
}
