// Package monitor watches a run while it trains and raises named red flags, each
// with a measurement, its threshold, the evidence and advice. A flag is a pure
// function of the metrics that the run has written, so a resumed run raises the
// same flags as an uninterrupted one.
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
	// hacking is true if the reward may be wrong; trajectories are listed.
	hacking bool
	// restart is true if a run should start again from before the flag.
	restart bool
	// unstable is true if a slower learner may help.
	unstable bool
	look     func(*view) *finding
}

// finding is a flag that is raised.
type finding struct {
	level            run.Level
	value, threshold float64
	evidence         string
}

// flags are all there are, in the order of their reports.
var flags = slices.Concat(rewardFlags, policyFlags, dataFlags, outcomeFlags, hackingFlags)

// rolloutFlags need nothing of the updates of the policy.
var rolloutFlags = slices.Concat(rewardFlags, dataFlags, outcomeFlags, hackingFlags)

// checkNames returns the names of all red flags.
func checkNames() []string {
	var names []string
	for _, f := range flags {
		names = append(names, f.name)
	}
	return names
}

// Look returns the red flags that are newly raised at the last line of history,
// which holds all lines of the run so far. Look returns a flag that stays raised
// again after Config.Repeat iterations, or at once if it becomes an alarm. A
// Config without a window raises none. A history of episodes alone, without Update,
// raises none of the flags about the policy's updates.
func (c Config) Look(history []run.Iteration) []run.Alarm {
	if c.Window < 1 || len(history) == 0 {
		return nil
	}
	v := newView(c, history)
	looked := v.flags()
	if line := &history[len(history)-1]; len(v.lines) == 0 || v.last() != line {
		v.lines, looked = append(v.lines, line), outcomeFlags // nothing but outcomes was measured
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

// Hacking reports whether an alarm suggests that the reward is exploited, so that
// a person should read the best-scored trajectories.
func Hacking(alarms []run.Alarm) bool {
	return slices.ContainsFunc(alarms, func(a run.Alarm) bool { return is(a, func(f *flag) bool { return f.hacking }) })
}

// Restart reports whether the advice of an alarm is to start again from an earlier
// checkpoint.
func Restart(a run.Alarm) bool { return is(a, func(f *flag) bool { return f.restart }) }

// Act applies Config.OnAlarm: it returns whether the run ends, and the caution
// from the next iteration on, or nil if it is unchanged.
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
