package harborcmd

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/merit-rl/merit/internal/base/box"
	"github.com/merit-rl/merit/internal/cli/console"
	"github.com/merit-rl/merit/internal/cli/terminal"
	"github.com/merit-rl/merit/internal/harbor/container"
	"github.com/merit-rl/merit/internal/harbor/gym"
	"github.com/merit-rl/merit/internal/harbor/image"
	"github.com/merit-rl/merit/internal/harbor/task"
	"github.com/merit-rl/merit/internal/harbor/trial"
)

type runOptions struct {
	host      *console.Host
	Agent     string   `flag:"agent" usage:"who works: oracle, which runs the task's solution, or nop, which does nothing" words:"oracle,nop"`
	Container bool     `flag:"container" usage:"run tasks that need more than a machine has in a container of Docker or Podman"`
	Config    string   `flag:"config,c" usage:"let the policy of this configuration work instead; the rest of the file counts too, except environment and rewards" files:"yaml,yml"`
	Set       []string `flag:"set" usage:"override a value of the configuration: key.path=value (repeatable)"`
	Out       string   `flag:"out" usage:"the folder for the trials, each in a separate folder"`
}

func newRunCmd(h *console.Host) *cobra.Command {
	o := &runOptions{host: h, Agent: trial.Oracle}
	return console.Verb(&cobra.Command{
		Use:   "run DIR…",
		Short: "Run an agent on Harbor tasks, and their verifiers",
		Long: `Run builds the environment of each task on a machine without a container, lets the agent
work, and runs the verifier in another machine, which has the files that the agent left and
the tests. With --out it writes each trial as Harbor does: result.json, agent/ and
verifier/.

A task that needs more than such a machine has is refused by name, or runs in a container of
Docker or Podman with --container. With -c, the policy of a configuration works on each task
instead, such as a language model: it calls the tool bash until it says that it is done. To
play many episodes, or to train, name the folder in the configuration
(environment: {harbor: DIR}), and use merit rollout or merit train.`,
		Example: `  merit task run examples/harbor/log-report
  merit task run --agent nop --out trials examples/harbor
  merit task run -c harbor.yaml --out trials examples/harbor`,
		Args: cobra.MinimumNArgs(1),
		RunE: o.run,
	}, o)
}

// outcome is a trial in the list of --json.
type outcome struct {
	Task    string             `json:"task"`
	Agent   string             `json:"agent"`
	Rewards map[string]float64 `json:"rewards"`
	Failure *trial.Failure     `json:"failure,omitempty"`
	Flags   []trial.Flag       `json:"red_flags,omitempty"`
	Fuel    uint64             `json:"fuel"`
	Digest  string             `json:"digest"`
	Trial   string             `json:"trial,omitempty"`
}

func (o *runOptions) run(cmd *cobra.Command, args []string) error {
	if o.Agent != trial.Oracle && o.Agent != trial.Nop {
		return console.Usage(cmd, "use oracle or nop", "--agent %q is not an agent", o.Agent)
	}
	dirs, err := task.Find(args...)
	if err != nil {
		return err
	}
	work := o.each
	if o.Config != "" {
		work = o.play
	}
	all, err := work(cmd.Context(), dirs)
	if err != nil {
		return err
	}
	if o.host.Global.JSON {
		return o.host.PrintJSON(all)
	}
	table := terminal.Table{Head: []string{"task", "agent", "reward", "fuel"}}
	for _, r := range all {
		table.Add(r.Task, r.Agent, r.text(), fmt.Sprint(r.Fuel))
	}
	if err := table.Write(o.host.Stdout); err != nil {
		return err
	}
	for _, r := range all {
		for _, f := range r.Flags {
			fmt.Fprintf(o.host.Stdout, "%s: red flag: %s\n", terminal.Printable(r.Task), terminal.Printable(f.String()))
		}
	}
	return nil
}

func (r outcome) text() string {
	if r.Failure != nil {
		return r.Failure.Error()
	}
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(r.Rewards)) {
		part := number(r.Rewards[name])
		if name != "reward" {
			part = name + " " + part
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, ", ")
}

// each runs the agent on each task. Tasks that cannot run are reported together, before any
// runs.
func (o *runOptions) each(ctx context.Context, dirs []string) (all []outcome, err error) {
	m, err := open(ctx, o.host)
	if err != nil {
		return nil, err
	}
	defer m.Close()
	v, err := image.Take(ctx, m)
	if err != nil {
		return nil, err
	}
	prepare, err := o.plan(ctx, m, v, dirs)
	if err != nil {
		return nil, err
	}
	for _, build := range prepare {
		p, err := build()
		if err != nil {
			return all, err
		}
		r, err := o.trial(ctx, p)
		p.Close()
		if err != nil {
			return all, err
		}
		all = append(all, r)
	}
	return all, nil
}

// plan reads the tasks, and returns how each is built. It reports all that cannot run.
func (o *runOptions) plan(ctx context.Context, m box.Maker, v *image.Inventory, dirs []string) (all []func() (*trial.Prepared, error), err error) {
	var problems []error
	var engine *container.Engine
	for _, dir := range dirs {
		t, needs, err := examined(dir, v)
		build := func() (*trial.Prepared, error) { return trial.Prepare(ctx, m, t) }
		if err == nil && len(needs) > 0 {
			if err = gym.Refused(dir, needs); o.Container && !slices.ContainsFunc(needs, beyond) {
				if engine, err = found(ctx, engine); err == nil {
					build = func() (*trial.Prepared, error) { return trial.PrepareWith(ctx, t, engine.Build) }
				}
			}
		}
		problems, all = append(problems, err), append(all, build)
	}
	return all, errors.Join(problems...)
}

// beyond reports whether one container does not give what is needed either.
func beyond(n image.Need) bool {
	return n.Kind == image.Services || n.Kind == image.Devices || n.Kind == image.System
}

// found looks for an engine once.
func found(ctx context.Context, e *container.Engine) (*container.Engine, error) {
	if e != nil {
		return e, nil
	}
	return container.Find(ctx)
}

// examined reads a task, and what it needs.
func examined(dir string, v *image.Inventory) (*task.Task, []image.Need, error) {
	t, err := task.Load(dir)
	if err != nil {
		return nil, nil, err
	}
	e, err := image.Examine(t, v)
	if err != nil {
		return nil, nil, err
	}
	return t, e.Needs, nil
}

func outcomeOf(t *task.Task, r *trial.Result) outcome {
	return outcome{Task: t.Name, Agent: r.Agent, Rewards: r.Rewards, Failure: r.Failure, Flags: r.Flags, Fuel: r.Fuel, Digest: r.Digest}
}

func (o *runOptions) trial(ctx context.Context, p *trial.Prepared) (outcome, error) {
	r, err := p.Run(ctx, o.Agent, time.Now)
	if err != nil {
		return outcome{}, err
	}
	out := outcomeOf(p.Task, r)
	if o.Out == "" {
		return out, nil
	}
	out.Trial = filepath.Join(o.Out, p.Task.Name+"__"+r.Digest[:7])
	if err := os.MkdirAll(out.Trial, 0o755); err != nil {
		return out, console.CannotWrite(err)
	}
	return out, r.Write(out.Trial, p.Task)
}
