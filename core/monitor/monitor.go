// Package monitor looks at a run as it goes: named red flags, each with what
// was measured, the threshold, the evidence and an advice. A flag is a pure
// function of the lines of metrics that the run has written, so a resumed run
// sees what one that was not stopped sees.
package monitor

import (
	"math"
	"slices"

	"github.com/merit-rl/merit/core/run"
)

// flag is something that can go wrong.
type flag struct {
	name   string
	advice string
	// hacking: the reward may be what is wrong, so trajectories are listed.
	hacking bool
	// unstable: a slower learner may help.
	unstable bool
	look     func(*view) *finding
}

// finding is a flag that is up.
type finding struct {
	level            run.Level
	value, threshold float64
	evidence         string
}

// flags are all there are, in the order of their reports.
var flags = slices.Concat(rewardFlags, policyFlags, dataFlags, outcomeFlags, hackingFlags)

// checkNames returns the names of all red flags.
func checkNames() []string {
	var names []string
	for _, f := range flags {
		names = append(names, f.name)
	}
	return names
}

// Look returns the red flags that are newly up at the last line of history,
// which are all lines of a run so far. One that stays up is returned again
// after Config.Repeat iterations, and one that becomes an alarm at once. A
// Config without a window raises none.
func (c Config) Look(history []run.Iteration) []run.Alarm {
	if c.Window < 1 || len(history) == 0 {
		return nil
	}
	v, looked := newView(c, history), flags
	if line := &history[len(history)-1]; len(v.lines) == 0 || v.last() != line {
		v.lines, looked = append(v.lines, line), outcomeFlags // nothing was measured: outcomes are all there is
	}
	var alarms []run.Alarm
	for _, f := range looked {
		if slices.Contains(c.Off, f.name) || slices.Contains(c.Off, all) {
			continue
		}
		found := f.look(v)
		if found == nil || math.IsNaN(found.value) || v.said(f.name, found.level) {
			continue
		}
		alarms = append(alarms, run.Alarm{
			Name: f.name, Level: found.level, Value: round(found.value), Threshold: round(found.threshold),
			Iteration: v.last().Iteration, Evidence: found.evidence, Advice: f.advice,
		})
	}
	return alarms
}

// Hacking reports whether one of alarms doubts the reward: what scores best
// should be read.
func Hacking(alarms []run.Alarm) bool {
	return slices.ContainsFunc(alarms, func(a run.Alarm) bool { return is(a, func(f *flag) bool { return f.hacking }) })
}

// Act says what Config.OnAlarm comes to: whether the run ends, and the caution
// from the next iteration on, nil if it stays.
func (c Config) Act(alarms []run.Alarm, now run.Caution) (stop bool, next *run.Caution) {
	for _, a := range alarms {
		if a.Level != run.Alert {
			continue
		}
		stop = stop || c.OnAlarm == OnAlarmStop
		if c.OnAlarm == OnAlarmAdapt && is(a, func(f *flag) bool { return f.unstable }) {
			if slower := adapted(now); slower != now {
				next = &slower
			}
		}
	}
	return stop, next
}

func is(a run.Alarm, what func(*flag) bool) bool {
	i := slices.IndexFunc(flags, func(f flag) bool { return f.name == a.Name })
	return i >= 0 && what(&flags[i])
}

// round keeps six digits: more are noise, and files are read by people.
func round(x float64) float64 {
	if x == 0 || math.IsInf(x, 0) {
		return x
	}
	unit := math.Pow(10, 5-math.Floor(math.Log10(math.Abs(x))))
	if unit == 0 || math.IsInf(unit, 0) {
		return x
	}
	return math.Round(x*unit) / unit
}
