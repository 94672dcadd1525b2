package train

import (
	"slices"

	"github.com/merit-rl/merit/core/credit"
	"github.com/merit-rl/merit/core/monitor"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/core/run"
)

// watch raises the red flags of the run after this iteration, keeps the
// trajectories that they list, and takes the configured action.
func (l *loop) watch(it *iteration, b *credit.Batch) {
	const suspects = 5
	c := l.s.Monitor
	it.line.Alarms = c.Look(append(l.history, it.line))
	if monitor.Hacking(it.line.Alarms) {
		it.point(c.Suspects(b.Trajectories, suspects), b.Trajectories)
	}
	caution := run.Caution{Rate: 1, Clip: 1}
	if it.cursor.Caution != nil {
		caution = *it.cursor.Caution
	}
	stop, slower := c.Act(it.line.Alarms, caution)
	if slower != nil {
		it.line.Adapted, it.cursor.Caution = slower, slower
	}
	if l.s.Train.Stop.Flags == flagsStop {
		stop = stop || slices.ContainsFunc(it.line.Alarms, func(a run.Alarm) bool { return a.Level == run.Alert })
	}
	if stop && it.cursor.Stop == "" {
		it.cursor.Stop = run.StopAlarm
	}
	for _, a := range it.line.Alarms {
		l.deps.Log.Info("red flag", "iteration", a.Iteration, "name", a.Name, "level", a.Level, "evidence", a.Evidence, "advice", a.Advice)
	}
}

// point adds suspects to the alarms that question the reward, and keeps them.
func (it *iteration) point(suspects, all []*rl.Trajectory) {
	var ids []string
	for _, t := range suspects {
		ids = append(ids, t.ID)
	}
	for i := range it.line.Alarms {
		if a := &it.line.Alarms[i]; monitor.Hacking([]run.Alarm{*a}) {
			a.Trajectories = ids
		}
	}
	kept := slices.Concat(it.kept, suspects)
	keep := make([]bool, len(all))
	for i, t := range all {
		keep[i] = slices.Contains(kept, t)
	}
	it.kept = chosen(keep, all)
}
