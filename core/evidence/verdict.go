package evidence

import (
	"fmt"
	"math"
	"strings"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/base/attempts"
)

// Decision is what to do about a policy that was measured.
type Decision string

// The closed set of decisions.
const (
	Promote  Decision = "promote"   // it is enough better, and significantly so
	Iterate  Decision = "iterate"   // it is not enough better, or not significantly
	FallBack Decision = "fall back" // keep the previous policy
)

// Verdict is a decision with its reason.
type Verdict struct {
	Decision Decision `json:"decision"`
	Metric   string   `json:"metric"` // that was judged
	// Gain is how much better after is, over |before|; nil where that is 0 and
	// any gain is without measure.
	Gain *float64 `json:"gain,omitempty"`
	// Significant is true if p is below Config.Significance and the whole interval
	// is on the side of the gain.
	Significant bool   `json:"significant"`
	Sentence    string `json:"sentence"`
}

// judge decides.
func (c Config) judge(x Comparison) (Verdict, error) {
	d, err := c.judged(x)
	if err != nil {
		return Verdict{}, err
	}
	better, interval := d.Difference, d.Interval
	if c.Lower {
		better, interval[0], interval[1] = -better, -interval[1], -interval[0]
	}
	v := Verdict{Metric: d.Name, Significant: d.PValue < c.Significance && interval[0] > 0}
	gain := math.Inf(1)
	if d.Before != 0 {
		gain = better / math.Abs(d.Before)
		v.Gain = &gain
	} else if better <= 0 {
		gain = 0
	}
	switch {
	case gain >= c.Promote && v.Significant && x.Unscored <= c.MaxUnscored:
		v.Decision = Promote
	case better > 0 && gain >= c.Iterate:
		v.Decision = Iterate
	default:
		v.Decision = FallBack
	}
	v.Sentence = c.sentence(v, d, better, gain)
	if x.Unscored > c.MaxUnscored {
		v.Sentence += fmt.Sprintf("; %s of the episodes have no score, so their result is unknown", percent(x.Unscored))
	}
	return v, nil
}

// judged chooses the metric.
func (c Config) judged(x Comparison) (Difference, error) {
	if wins, ok := x.Metric(WinRate); ok && c.Metric == Auto {
		return wins, nil
	}
	if c.Metric == Auto {
		success, _ := x.Metric(Success)
		if success.PValue < c.Significance {
			return success, nil
		}
		d, _ := x.Metric(Return)
		return d, nil
	}
	if d, ok := x.Metric(c.Metric); ok {
		return d, nil
	}
	var names []string
	for _, d := range x.Metrics {
		names = append(names, d.Name)
	}
	return Difference{}, &fault.Error{
		Boundary: fault.Data, Kind: fault.Missing, Where: "evidence.metric", What: fmt.Sprintf("the evaluations do not both have the metric %s", c.Metric),
		Hint: "use one of " + strings.Join(names, ", "),
	}
}

// sentence words a verdict, with its numbers.
func (c Config) sentence(v Verdict, d Difference, better, gain float64) string {
	var b strings.Builder
	if better < 0 && d.PValue >= c.Significance {
		fmt.Fprintf(&b, "%s: %s differs by no more than chance (%s), so keep the previous policy, or measure more episodes", v.Decision, d.Name, c.numbers(d))
		return b.String()
	}
	fmt.Fprintf(&b, "%s: %s is ", v.Decision, d.Name)
	switch {
	case better == 0:
		b.WriteString("the same")
	case d.Before == 0:
		b.WriteString(word(better) + " than zero")
	default:
		fmt.Fprintf(&b, "%s %s", percent(math.Abs(gain)), word(better))
	}
	fmt.Fprintf(&b, " (%s), ", c.numbers(d))
	required := fmt.Sprintf("%s and p < %g", percent(c.Promote), c.Significance)
	switch {
	case v.Decision == Promote:
		b.WriteString("which meets the required " + required)
	case v.Decision == Iterate && !v.Significant:
		b.WriteString("but that may be chance: measure more episodes, or train longer")
	case v.Decision == Iterate && gain >= c.Promote:
		b.WriteString("which would be enough")
	case v.Decision == Iterate:
		b.WriteString("which is more than chance, but promotion requires " + required)
	case better < 0:
		b.WriteString("so keep the previous policy")
	default:
		fmt.Fprintf(&b, "less than the %s that justifies more work", percent(c.Iterate))
	}
	if v.Decision == Iterate && d.Name == Success && d.Before*(1+c.Promote) > 1 {
		fmt.Fprintf(&b, "; from %s success cannot rise by %s: set evidence.promote or evidence.metric", percent(d.Before), percent(c.Promote))
	}
	return b.String()
}

func word(better float64) string {
	if better < 0 {
		return "worse"
	}
	return "better"
}

// numbers gives both means, the difference with its interval, and p.
func (c Config) numbers(d Difference) string {
	value, change := func(x float64) string { return fmt.Sprintf("%.4g", x) }, func(x float64) string { return fmt.Sprintf("%+.3g", x) }
	unit := ""
	if d.Name == Success || d.Name == WinRate || attempts.K([]string{d.Name}) != nil {
		value, change = percent, func(x float64) string { return fmt.Sprintf("%+.1f", 100*x) }
		unit = " points"
	}
	return fmt.Sprintf("%s → %s, %s%s [%s, %s], p = %.2g", value(d.Before), value(d.After), change(d.Difference), unit, change(d.Interval[0]), change(d.Interval[1]), d.PValue)
}

func percent(x float64) string {
	return strings.TrimSuffix(fmt.Sprintf("%.1f", 100*x), ".0") + " %"
}
