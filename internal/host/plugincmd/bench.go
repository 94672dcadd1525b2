package plugincmd

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/merit-rl/merit/core/env"
	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/cli/console"
	"github.com/merit-rl/merit/internal/cli/terminal"
	"github.com/merit-rl/merit/internal/host"
)

type benchOptions struct {
	host    *console.Host
	Options string        `flag:"options" usage:"the plug-in's options, a JSON object"`
	Slots   []int         `flag:"slots" usage:"numbers of slots to measure with"`
	Say     []string      `flag:"say" usage:"text to send to an environment that takes free text (repeatable)"`
	Time    time.Duration `flag:"time" usage:"how long to measure each number of slots"`
}

func newBenchCmd(h *console.Host) *cobra.Command {
	o := &benchOptions{host: h, Time: 2 * time.Second, Slots: []int{1, 16, 64, 256}}
	return console.Verb(&cobra.Command{
		Use:   "bench NAME|PATH",
		Short: "Measure how fast an environment steps",
		Long: `Bench plays episodes as a rollout does, with features and without text, and prints
the steps per second. It measures each number of slots in a separate process.`,
		Example: "  merit plugin bench sokoban --slots 1,16,64,256",
		Args:    console.Exactly("NAME|PATH"),
		RunE:    o.run,
	}, o)
}

// measured is one row of the table.
type measured struct {
	Slots int     `json:"slots"`
	Steps float64 `json:"steps_per_second"`
}

func (o *benchOptions) run(cmd *cobra.Command, args []string) error {
	if err := validOptions(cmd, o.Options); err != nil {
		return err
	}
	if o.Time <= 0 {
		return console.Usage(cmd, "such as --time 2s", "--time must be more than 0, not %s", o.Time)
	}
	path, err := find(o.host, args[0])
	if err != nil {
		return err
	}
	var rows []measured
	t := terminal.Table{Head: []string{"slots", "steps/s"}}
	for _, n := range o.Slots {
		c := checkOptions{host: o.host, Options: o.Options, Slots: n}
		rate, err := measure(cmd.Context(), c.config(path), o.Say, o.Time)
		if err != nil {
			return err
		}
		rows = append(rows, measured{n, rate})
		t.Add(fmt.Sprint(n), fmt.Sprintf("%.0f", rate))
	}
	if o.host.Global.JSON {
		return o.host.PrintJSON(rows)
	}
	return t.Write(o.host.Stdout)
}

// measure steps the environment of cfg for the given time, half of it to warm up, and
// returns steps per second. Resets count in the time but not as steps.
func measure(ctx context.Context, cfg host.Config, texts []string, limit time.Duration) (float64, error) {
	e, err := host.Open(ctx, cfg)
	if err != nil {
		return 0, err
	}
	defer e.Close()
	spec := e.Spec()
	if len(texts) == 0 {
		texts = []string{"I do not know."}
	}
	b, r := env.NewBatch(spec), env.Reply{}
	b.Want = env.WantFeatures
	for i := range b.Ops {
		b.Ops[i], b.Seeds[i] = env.Reset, uint64(i)
	}
	steps, measuring, began := 0, false, time.Now()
	for n := 0; ; n++ {
		if err := e.Exchange(ctx, b, &r); err != nil {
			return 0, err
		}
		passed := time.Since(began)
		switch {
		case !measuring && passed > limit/2:
			measuring, steps, began = true, 0, time.Now()
		case measuring && passed > limit/2:
			return float64(steps) / passed.Seconds(), nil
		}
		for i, f := range r.Flags {
			if f&env.Failed != 0 {
				return 0, &fault.Error{Boundary: fault.Plugin, Kind: fault.Crashed, Where: spec.Name, What: fmt.Sprintf("slot %d failed", i), Hint: "run merit plugin check on it first"}
			}
			if f&(env.Terminated|env.Truncated) != 0 {
				b.Ops[i], b.Seeds[i] = env.Reset, uint64(n*spec.Slots+i)
				continue
			}
			b.Ops[i], b.Texts[i] = env.Step, texts[n%len(texts)]
			steps++
			if actions := len(spec.Actions); actions > 0 {
				b.Actions[i] = available(r.Mask[i*actions:(i+1)*actions], n+3*i)
			}
		}
	}
}

// available returns the first available action of a mask at or after the wished one.
func available(mask []byte, wish int) int32 {
	start := wish % len(mask)
	if i := slices.Index(mask[start:], 1); i >= 0 {
		return int32(start + i)
	}
	return int32(slices.Index(mask, 1))
}

// steps formats a rate.
func steps(rate float64) string {
	if rate >= 1e6 {
		return fmt.Sprintf("%.2f M steps/s", rate/1e6)
	}
	return fmt.Sprintf("%.0f steps/s", rate)
}
