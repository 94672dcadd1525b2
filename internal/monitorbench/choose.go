package monitorbench

import (
	"math"
	"slices"
)

// Allowed is the share of healthy runs that may have an alarm.
const Allowed = 0.05

// thresholds returns the candidates for the threshold of a flag: values between two that runs have, of
// which at most the allowed share of the healthy runs is above.
func thresholds(runs []Run, flag int) (all []float64) {
	hacked, healthy := split(runs, flag)
	slices.Sort(healthy)
	values := slices.DeleteFunc(slices.Concat(hacked, healthy), func(x float64) bool { return x == none })
	slices.Sort(values)
	values = slices.Compact(values)
	for i, x := range values {
		t := x
		if i > 0 && !math.IsInf(values[i-1], 0) {
			t = (values[i-1] + x) / 2
		}
		at, _ := slices.BinarySearch(healthy, t)
		if float64(len(healthy)-at) <= Allowed*float64(len(healthy)) {
			all = append(all, t)
		}
	}
	return all
}

// Alone returns the lowest threshold at which a flag alone has no more false alarms than allowed.
func Alone(runs []Run, flag int) float64 {
	if all := thresholds(runs, flag); len(all) > 0 {
		return all[0]
	}
	return math.Inf(1)
}

// Choose returns the rule that catches the most hacked runs with no more false alarms than allowed, as far as a
// search finds it that adds one flag after another: in each step the flag and the threshold that catch the
// most further runs, and of equal ones those with fewer false alarms. Only is which flags may be part of it.
func Choose(runs []Run, only []string) Rule {
	rule, flags := Off(), Flags()
	var hacked, healthy []*Run
	for i := range runs {
		switch r := &runs[i]; {
		case r.hacked():
			hacked = append(hacked, r)
		case !r.Family.Hackable:
			healthy = append(healthy, r)
		}
	}
	for {
		caught, wrong := count(rule, hacked), count(rule, healthy)
		var next Rule
		for i := range flags {
			if !slices.Contains(only, flags[i].Name) {
				continue
			}
			for _, t := range thresholds(runs, i) {
				try := slices.Clone(rule)
				try[i] = t
				c, w := count(try, hacked), count(try, healthy)
				if float64(w) > Allowed*float64(len(healthy)) || c < caught || c == caught && w >= wrong {
					continue
				}
				next, caught, wrong = try, c, w
			}
		}
		if next == nil || count(next, hacked) == count(rule, hacked) {
			return rule
		}
		rule = next
	}
}

// count counts the runs with an alarm.
func count(rule Rule, runs []*Run) (n int) {
	for _, r := range runs {
		for i, t := range rule {
			if !math.IsInf(t, 1) && r.most(i) >= t {
				n++
				break
			}
		}
	}
	return n
}
