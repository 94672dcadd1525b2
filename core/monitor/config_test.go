package monitor

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/run"
)

// Promise: the defaults are valid, and every wrong key is named at once.
func TestValidate(t *testing.T) {
	require.Empty(t, Default().Validate())
	c := Default()
	c.OnAlarm, c.Off, c.Window, c.Thresholds.KLWarn, c.Thresholds.Length = "shout", []string{"kl", "kll"}, 1, 0, -1
	var keys []string
	for _, err := range c.Validate() {
		keys = append(keys, fault.As(err).Where)
	}
	require.ElementsMatch(t, []string{"on_alarm", "off", "window", "thresholds.kl_warn", "thresholds.length"}, keys)
}

// Promise: adapt halves rate and clip, the clip once, and ends at a sixteenth
// of the rate; warnings and flags that a slower learner does not help do
// nothing.
func TestAct(t *testing.T) {
	c, now := Default(), run.Caution{Rate: 1, Clip: 1}
	c.OnAlarm = OnAlarmAdapt
	unstable := []run.Alarm{{Name: "kl", Level: run.Alert}}
	for _, want := range []run.Caution{{Rate: 0.5, Clip: 0.5}, {Rate: 0.25, Clip: 0.5}, {Rate: 0.125, Clip: 0.5}, {Rate: 0.0625, Clip: 0.5}} {
		stop, next := c.Act(unstable, now)
		require.False(t, stop)
		require.Equal(t, &want, next)
		now = *next
	}
	for _, alarms := range [][]run.Alarm{unstable, {{Name: "kl", Level: run.Warn}}, {{Name: "divergence", Level: run.Alert}}, nil} {
		_, next := c.Act(alarms, run.Caution{Rate: 0.0625, Clip: 0.5})
		require.Nil(t, next)
	}
	c.OnAlarm = OnAlarmStop
	stop, next := c.Act([]run.Alarm{{Name: "divergence", Level: run.Alert}}, now)
	require.True(t, stop)
	require.Nil(t, next)
	stop, _ = c.Act([]run.Alarm{{Name: "kl", Level: run.Warn}}, now)
	require.False(t, stop)
}
