package live

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/rivo/uniseg"
	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/run"
	"github.com/merit-rl/merit/internal/cli/terminal"
)

// history is a run of n iterations of one second each that improves and is validated every
// fifth iteration.
func history(n int) []run.Iteration {
	all := []run.Iteration{{Validation: &run.Score{Success: 0.1}}}
	for i := 1; i <= n; i++ {
		x := float64(i) / float64(n)
		it := run.Iteration{
			Iteration: i, EnvSteps: uint64(100 * i), Rollout: &run.Rollout{Success: x, Return: 2 * x},
			Update: &run.Update{KL: 0.01 * x, Entropy: 1 - x}, Time: run.Time{Total: 1, StepsPerSecond: 45678},
		}
		if i%5 == 0 {
			it.Validation, it.Best = &run.Score{Success: 0.9 * x, SuccessInterval: run.Interval{0.8 * x, x}}, true
		}
		all = append(all, it)
	}
	return all
}

func text(lines []Line) string {
	var b strings.Builder
	for _, l := range lines {
		b.WriteString(l.Text + "\n")
	}
	return b.String()
}

// Promise: a frame shows the progress of the run, the curves with their last values in one
// column, and the red flags.
func TestFrame(t *testing.T) {
	s := State{History: history(40), Total: 100, Elapsed: 125 * time.Second, What: "train", Done: 12, Planned: 256}
	s.History[38].Alarms = []run.Alarm{{Name: "kl_high", Level: run.Warn}}
	s.History[38].Alarms[0].Iteration = 38
	require.Equal(t, strings.TrimPrefix(`
iteration 40/100  ██████████░░░░░░░░░░░░░░  40 %  2m05s, at most 1m00s left  46k steps/s  train 12/256
success     ▁▁▂▂▂▂▂▂▃▃▃▃▃▃▄▄▄▄▄▅▅▅▅▅▅▆▆▆▆▆▆▇▇▇▇▇▇███                      100.0 %
validation  ▂▂▂▂▂▂▂▂▂▃▃▃▃▃▃▃▃▃▃▄▄▄▄▄▅▅▅▅▅▆▆▆▆▆▇▇▇▇▇▇                       90.0 %  [80.0, 100.0]  best 90.0 % at 40
return      ▁▁▁▂▂▂▂▂▂▃▃▃▃▃▄▄▄▄▄▄▅▅▅▅▅▅▆▆▆▆▆▇▇▇▇▇▇███                        2.000
KL          ▁▁▂▂▂▂▂▂▃▃▃▃▃▃▄▄▄▄▄▅▅▅▅▅▅▆▆▆▆▆▆▇▇▇▇▇▇███                       0.0100
entropy     ███▇▇▇▇▇▇▆▆▆▆▆▅▅▅▅▅▅▄▄▄▄▄▄▃▃▃▃▃▂▂▂▂▂▂▁▁▁                        0.000
monitors    kl_high at 38
`, "\n"), strings.ReplaceAll(text(Frame(s, 120, 24, terminal.Style{})), "  \n", "\n"))
}

// Promise: no frame is larger than its terminal, for any run and any size, with or without
// color.
func TestFrameFits(t *testing.T) {
	long := history(300)
	long[290].Alarms = []run.Alarm{{Name: strings.Repeat("x", 300), Level: run.Alert}}
	for _, h := range [][]run.Iteration{nil, history(0), history(1), long} {
		for _, s := range []State{{History: h, Total: 5000}, {History: h, What: "test trained", Final: true, Planned: 9}, {History: h, Over: true}} {
			for width := 1; width < 200; width += 13 {
				for height := 1; height < 12; height += 2 {
					lines, coloured := Frame(s, width, height, terminal.Style{}), Frame(s, width, height, terminal.Style{On: true})
					require.LessOrEqual(t, len(lines), height)
					require.NotEmpty(t, lines)
					for i, l := range lines {
						require.Equal(t, l.Columns, uniseg.StringWidth(l.Text))
						require.LessOrEqual(t, l.Columns, width)
						require.Equal(t, l.Columns, coloured[i].Columns)
					}
				}
			}
		}
	}
	require.Equal(t, Frame(State{}, 80, 24, terminal.Style{}), Frame(State{}, 0, 0, terminal.Style{}))
}

// Promise: on a small terminal, an alarm is the last line to be dropped.
func TestAlarmsStay(t *testing.T) {
	s := State{History: history(9), Total: 10}
	s.History[9].Alarms = []run.Alarm{{Name: "entropy_collapse", Level: run.Alert, Iteration: 9}}
	require.Equal(t, "iteration 9/10  90 %\nmonitors    entropy_\n", text(Frame(s, 20, 2, terminal.Style{})))
	require.Contains(t, text(Frame(s, 80, 9, terminal.Style{On: true})), "\x1b[31mentropy_collapse at 9  \x1b[0m")
}

// Promise: a curve keeps its ends and its gaps at any width, and a constant one is drawn.
func TestSpark(t *testing.T) {
	for _, c := range []struct {
		values []float64
		width  int
		want   string
	}{
		{nil, 4, ""},
		{[]float64{0, 0.5, 1}, 5, "▁▅█"},
		{[]float64{0, 0, 1, 1}, 2, "▁█"},
		{[]float64{0, math.NaN(), math.Inf(1), 1}, 4, "▁  █"},
		{[]float64{-1, 2}, 2, "▁█"},
		{[]float64{0, 1}, 0, ""},
	} {
		require.Equal(t, c.want, Spark(c.values, c.width, 0, 1), fmt.Sprint(c.values))
	}
	require.Equal(t, "▁▁", Spark([]float64{3, 3}, 2, 3, 3))
}

// Promise: the remaining time is estimated from the pace of the last iterations and the limit
// that is reached first, and is omitted while it is unknown.
func TestLeft(t *testing.T) {
	slow := history(40)
	for i := 21; i <= 40; i++ {
		slow[i].Time.Total = 3
	}
	for _, c := range []struct {
		state State
		want  time.Duration
		known bool
	}{
		{State{History: slow, Total: 50}, 30 * time.Second, true},
		{State{History: slow, Total: 50, Steps: 4200}, 6 * time.Second, true},
		{State{History: slow, Total: 40}, 0, true},
		{State{History: slow[:1], Total: 50}, 0, false},
		{State{History: slow, Total: 50, Final: true}, 0, false},
		{State{History: slow, Total: 50, Over: true}, 0, false},
	} {
		left, known := Left(c.state)
		require.Equal(t, c.known, known)
		require.Equal(t, c.want, left)
	}
}
