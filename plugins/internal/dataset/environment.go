package dataset

import (
	"github.com/merit-rl/merit/sdk/plugin"
	"github.com/merit-rl/merit/sdk/plugin/tasks"
)

// environment holds what its slots share.
type environment struct {
	options Options
	tasks   []plugin.Task
}

func newEnvironment(setup plugin.Setup, o Options) (plugin.Environment, error) {
	all, err := o.read()
	return &environment{options: o, tasks: o.deal(all, setup.Split)}, err
}

// Spec implements plugin.Environment. Actions are free text.
func (e *environment) Spec() plugin.Spec {
	return plugin.Spec{MaxSteps: 1, System: e.options.System, Tasks: len(e.tasks)}
}

// NewSlot implements plugin.Environment.
func (e *environment) NewSlot() (plugin.Slot, error) { return &slot{env: e}, nil }

// slot is one task.
type slot struct {
	env    *environment
	prompt string
	reply  string
}

// Reset implements plugin.Slot. Seeds come from a seed tree: well mixed.
func (s *slot) Reset(seed uint64, turn *plugin.Turn) error {
	task := s.env.tasks[seed%uint64(len(s.env.tasks))]
	s.prompt, s.reply = tasks.Key(task), ""
	turn.Anchor = append(turn.Anchor, s.prompt...)
	task.Messages = s.env.options.asked(task.Messages)
	return turn.Task(&task)
}

// ended is the last observation. An empty one would repeat the anchor.
const ended = "(end)"

// Step implements plugin.Slot. Any reply ends the episode.
func (s *slot) Step(action plugin.Action, turn *plugin.Turn) error {
	s.reply = action.Text
	turn.Anchor, turn.Text = append(turn.Anchor, s.reply...), append(turn.Text, ended...)
	turn.Terminated = true
	return nil
}

// String shows the prompt and the reply.
func (s *slot) String() string { return s.prompt + "\n> " + s.reply }
