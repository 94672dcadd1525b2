package gym

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/merit-rl/merit/core/env"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/base/box"
	"github.com/merit-rl/merit/internal/base/strictjson"
	"github.com/merit-rl/merit/internal/harbor/trial"
)

// environment plays tasks, one slot after the other.
type environment struct {
	world *World
	spec  env.Spec
	tasks []*entry
	slots []slot
	shut  bool
}

// slot is an episode.
type slot struct {
	scene *trial.Scene
	task  *entry
	state state
	// anchor is a digest of all that was done and answered, so equal ones are equal states.
	anchor string
	over   bool
	flags  int // red flags so far
}

// state is what a snapshot has: an episode is a function of it.
type state struct {
	Seed    uint64   `json:"seed"`
	Actions []string `json:"actions"`
}

// Spec implements env.Env.
func (e *environment) Spec() env.Spec { return e.spec }

// Close implements env.Env.
func (e *environment) Close() (err error) {
	e.shut = true
	for i := range e.slots {
		err = errors.Join(err, e.slots[i].end())
	}
	return err
}

func (s *slot) end() error {
	if s.scene == nil {
		return nil
	}
	scene := s.scene
	s.scene = nil
	return scene.Close()
}

// Exchange implements env.Env.
func (e *environment) Exchange(ctx context.Context, b *env.Batch, r *env.Reply) error {
	if err := b.Check(e.spec); err != nil {
		return err
	}
	if e.shut {
		return errors.New("the environment is closed")
	}
	n := e.spec.Slots
	r.Anchor, r.Text, r.Reward, r.Flags = sized(r.Anchor, n), sized(r.Text, n), sized(r.Reward, n), sized(r.Flags, n)
	r.Mask, r.Features, r.Events = r.Mask[:0], r.Features[:0], r.Events[:0]
	for i := range b.Ops {
		if err := e.play(ctx, i, b, r); err != nil {
			return err
		}
	}
	if b.Want&env.WantText == 0 {
		r.Text = r.Text[:0]
	}
	return nil
}

// play carries out the operation of a slot. What fails the slot is in the reply.
func (e *environment) play(ctx context.Context, i int, b *env.Batch, r *env.Reply) (err error) {
	s, t := &e.slots[i], turn{slot: i, reply: r}
	r.Anchor[i], r.Text[i], r.Reward[i], r.Flags[i] = "", "", 0, 0
	switch b.Ops[i] {
	case env.Reset:
		err = e.reset(ctx, s, b.Seeds[i], &t)
	case env.Step:
		err = e.step(ctx, s, b.Texts[i], &t)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	r.Anchor[i] = s.anchor
	if err != nil {
		r.Flags[i] |= env.Failed
		t.event(env.EventError, "", err.Error())
		return s.end()
	}
	return nil
}

func sized[T any](s []T, n int) []T { return slices.Grow(s[:0], n)[:n] }

// turn is the part of a reply that a slot fills.
type turn struct {
	slot  int
	reply *env.Reply
}

func (t *turn) event(kind env.EventKind, name, message string) {
	t.reply.Events = append(t.reply.Events, env.Event{Slot: t.slot, Kind: kind, Name: name, Message: message})
}

func (t *turn) json(kind env.EventKind, name string, v any) {
	text, err := json.Marshal(v)
	if err == nil { // numbers that are finite, and texts
		t.event(kind, name, string(text))
	}
}

// reset begins an episode.
func (e *environment) reset(ctx context.Context, s *slot, seed uint64, t *turn) error {
	if err := s.end(); err != nil {
		return err
	}
	*s = slot{task: e.tasks[seed%uint64(len(e.tasks))], state: state{Seed: seed}}
	p, err := e.world.prepare(ctx, s.task)
	if err != nil {
		return err
	}
	if s.scene, err = p.Begin(ctx); err != nil {
		return err
	}
	s.mark(s.task.Digest)
	t.reply.Text[t.slot] = s.scene.Current().Instruction
	t.json(env.EventTask, "", rl.Task{
		ID: s.task.Name, Seed: seed,
		Messages: []rl.Message{{Role: rl.RoleSystem, Content: rl.Text(system)}, {Role: rl.RoleUser, Content: rl.Text(s.scene.Current().Instruction)}},
	})
	return nil
}

// mark adds to what the anchor is a digest of.
func (s *slot) mark(parts ...string) {
	sum := sha256.Sum256([]byte(s.anchor + "\x00" + strings.Join(parts, "\x00")))
	s.anchor = hex.EncodeToString(sum[:16])
}

var errOver = errors.New("the episode is over: reset the slot")

// call is a tool call as an action has it.
type call struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

// step runs the commands of a turn, or has the work judged if there are none.
func (e *environment) step(ctx context.Context, s *slot, action string, t *turn) error {
	if s.scene == nil || s.over {
		return errOver
	}
	s.state.Actions = append(s.state.Actions, action)
	var calls []call
	said := strings.TrimSpace(action)
	done := !strings.HasPrefix(said, "[") || strictjson.Unmarshal([]byte(said), &calls) != nil
	last := len(s.state.Actions) >= e.world.options.MaxSteps
	for _, c := range calls {
		if err := e.call(ctx, s, c, t); err != nil {
			return err
		}
	}
	last = last || s.scene.Spent()
	switch {
	case done && said == "" || !done && len(calls) == 0:
		t.reply.Flags[t.slot] |= env.InvalidAction
		t.reply.Text[t.slot] = "You said nothing. Call bash, or say that the task is done. "
	case done:
		return e.judge(ctx, s, t, last)
	}
	if last && ctx.Err() == nil {
		return e.judge(ctx, s, t, true)
	}
	t.reply.Text[t.slot] += fmt.Sprintf("%d turns are left.", e.world.options.MaxSteps-len(s.state.Actions))
	return nil
}

// call runs one command. An error is a failure of this computer, which an agent is not told.
func (e *environment) call(ctx context.Context, s *slot, c call, t *turn) error {
	var arguments struct {
		Command *string `json:"command"`
	}
	err := strictjson.Unmarshal([]byte(c.Function.Arguments), &arguments)
	if c.Function.Name != "bash" || err != nil || arguments.Command == nil {
		t.reply.Flags[t.slot] |= env.InvalidAction
		s.mark("invalid", c.Function.Name, c.Function.Arguments)
		t.event(env.EventToolResult, c.Function.Name[:min(len(c.Function.Name), 256)], "error: call bash with a text called command")
		return nil
	}
	r := s.scene.Run(ctx, "exec 2>&1; "+*arguments.Command)
	if errors.Is(r.Err, box.Infrastructure) || errors.Is(r.Err, box.TimedOut) {
		return r.Err
	}
	text := cut(string(r.Output), e.world.options.Output)
	switch {
	case r.Err != nil:
		text += "\n[stopped: " + r.Err.Error() + "]"
	case r.Status != 0:
		text += fmt.Sprintf("\n[exit status %d]", r.Status)
	}
	s.mark(*arguments.Command, text)
	t.event(env.EventToolResult, "bash", strings.ToValidUTF8(strings.TrimPrefix(text, "\n"), "�"))
	return nil
}

// cut leaves out the middle of a long text.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	half := most / 2
	return fmt.Sprintf("%s\n[… %d bytes left out …]\n%s", text[:half], len(text)-2*half, text[len(text)-half:])
}

type observer struct{}

// Observed returns a context whose environments of this process tell see each verdict, before it ends an episode
// or a step. Episodes that are played at one time call it at one time.
func Observed(ctx context.Context, see func(trial.Step)) context.Context {
	return context.WithValue(ctx, observer{}, see)
}

// judge runs the verifier, and ends the episode unless the task has another step. A verifier
// without a reward fails the episode: it is not worth 0.
func (e *environment) judge(ctx context.Context, s *slot, t *turn, truncated bool) error {
	v, err := s.scene.Verify(ctx)
	if err != nil {
		return err
	}
	if see, ok := ctx.Value(observer{}).(func(trial.Step)); ok {
		see(trial.Step{Name: s.scene.Current().Name, Rewards: v.Rewards, Failure: v.Failure, Flags: v.Flags, Verdict: v})
	}
	s.flags += len(v.Flags)
	if len(v.Flags) > 0 {
		t.json(env.EventInfo, "red_flags", v.Flags)
	}
	if v.Failure != nil {
		return v.Failure
	}
	more, err := s.scene.Advance(ctx, v)
	if err != nil {
		return err
	}
	if more && !truncated {
		t.reply.Text[t.slot] = s.scene.Current().Instruction
		s.mark("step", s.scene.Current().Name)
		return nil
	}
	return e.end(s, v, t, truncated)
}

// end ends an episode with the reward of the task.
func (e *environment) end(s *slot, v trial.Verdict, t *turn, truncated bool) error {
	total := s.scene.Total()
	reward, failed := trial.Main(total, e.world.options.Reward)
	if failed != nil {
		return failed
	}
	s.over = true
	t.reply.Reward[t.slot] = reward
	t.reply.Text[t.slot] = "The episode is over."
	t.reply.Flags[t.slot] |= env.Terminated
	if truncated {
		t.reply.Flags[t.slot] = t.reply.Flags[t.slot]&^env.Terminated | env.Truncated
	}
	for _, name := range slices.Sorted(maps.Keys(total)) {
		t.json(env.EventMetric, "verifier_"+name, total[name])
	}
	t.json(env.EventMetric, "env_red_flags", s.flags)
	t.json(env.EventMetric, "env_fuel", s.scene.Fuel+v.Fuel)
	return nil
}

// Snapshot implements env.Snapshotter: the state is what the agent did.
func (e *environment) Snapshot(_ context.Context, slot int) ([]byte, error) {
	s := &e.slots[slot]
	if s.scene == nil || s.over {
		return nil, errOver
	}
	text, err := json.Marshal(s.state)
	if err == nil && len(text) > env.MaxSnapshot {
		err = fmt.Errorf("the actions of the episode have more than %d bytes", env.MaxSnapshot)
	}
	return text, err
}

// Restore implements env.Snapshotter: it does again what the agent did, which has the same
// effect.
func (e *environment) Restore(ctx context.Context, index int, text []byte) error {
	var was state
	if err := strictjson.Unmarshal(text, &was); err != nil {
		return err
	}
	var r env.Reply
	n := e.spec.Slots
	r.Anchor, r.Text, r.Reward, r.Flags = sized(r.Anchor, n), sized(r.Text, n), sized(r.Reward, n), sized(r.Flags, n)
	t := &turn{slot: index, reply: &r}
	s := &e.slots[index]
	if err := e.reset(ctx, s, was.Seed, t); err != nil {
		return err
	}
	for _, action := range was.Actions {
		if err := e.step(ctx, s, action, t); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// Render implements env.Renderer.
func (e *environment) Render(_ context.Context, slot int) (string, error) {
	s := &e.slots[slot]
	if s.task == nil {
		return "", errOver
	}
	text := s.task.Name + "\n"
	for _, a := range s.state.Actions {
		text += "> " + a + "\n"
	}
	return text, nil
}
