// Package play continues recorded episodes. It plays a recorded episode again up to a step,
// takes another action there, lets the policy continue several times, and compares how the
// episodes end. The difference to the recorded action's own continuations is due to the action:
// both start in the same state and use the same random numbers.
package play

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/merit-rl/merit/core/credit"
	"github.com/merit-rl/merit/core/env"
	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/policy"
	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/core/rollout"
	"github.com/merit-rl/merit/core/train"
	"github.com/merit-rl/merit/sdk/merit"
)

// Options say what continues recorded episodes.
type Options struct {
	Session *merit.Session // environment and rewards
	Policy  policy.Policy
	Split   string // of the environment that recorded the episodes
	Greedy  bool   // the policy takes its most likely actions
	// Continuations is how many episodes are played from a state, at least 1.
	Continuations int
	// Progress, if it is not nil, receives the number of continuations of a game that are
	// finished.
	Progress func(done int)
	// Keep, if it is not nil, receives every continuation that is played.
	Keep func(*rl.Trajectory) error
}

// Player continues recorded episodes, one at a time. Its environments stay open until Close.
type Player struct {
	options  Options
	replayer *replayer
	player   train.Player
	scoring  *credit.Pipeline
}

// New returns a player. No environment is opened before the first game.
func New(o Options) (*Player, error) {
	cfg := o.Session.Config
	if train.Compares(o.Session.Parts) {
		return nil, &fault.Error{
			Boundary: fault.Config, Kind: fault.Refused, Where: "rewards", What: "a reward compares the members of a group, so one continuation has no score of its own",
			Hint: "use rewards that score one episode",
		}
	}
	p := &Player{
		options: o, replayer: &replayer{Policy: o.Policy},
		scoring: &credit.Pipeline{Rewards: reward.NewPool(o.Session.Parts, cfg.Rollout.Parallel), Align: cfg.Align},
	}
	settings := cfg.Rollout
	if cfg.Policy.Plugin != "" {
		settings.InFlight = cmp.Or(settings.InFlight, rollout.MaxInFlight)
	}
	var err error
	open := func(ctx context.Context, worker int) (env.Env, error) { return o.Session.OpenEnv(ctx, o.Split, worker) }
	p.player, err = train.LocalPlayer(settings, open, p.replayer, p.scoring, nil)
	return p, err
}

// Close shuts the environments down.
func (p *Player) Close() error { return p.player.Close() }

// Game is a recorded episode that can be continued from each of its steps. It ends when its
// player opens another one. Its methods must not be called concurrently.
type Game struct {
	*Player
	Episode *rl.Trajectory
	Seen    []Seen // by step
	// Replayed and Played count the environment steps so far: those of prefixes, and the others.
	Replayed, Played int

	end   Result              // of the recorded episode
	known map[string][]Result // by what was played
	done  int
}

// Seen is what the policy sees at a step.
type Seen struct {
	Available []string  // the actions that can be taken; nil if actions are text
	P         []float64 // their probabilities under the policy; nil if the policy does not tell
	Value     *float64  // the policy's estimate of the state
}

// Open plays t again, and returns an error that names the first step that differs.
func (p *Player) Open(ctx context.Context, t *rl.Trajectory) (*Game, error) {
	if err := suits(t); err != nil {
		return nil, err
	}
	if n := len(t.Messages) - 1; t.StopReason == rl.StopError && t.Messages[n].Role == rl.RoleAssistant { // never answered
		whole := *t
		whole.Messages = t.Messages[:n]
		t = &whole
	}
	g := &Game{Player: p, Episode: t, Seen: make([]Seen, len(t.Steps)), known: map[string][]Result{}}
	p.replayer.t, p.replayer.prompts = t, promptsOf(t)
	return g, g.replay(ctx)
}

// suits returns an error if t cannot be continued at all.
func suits(t *rl.Trajectory) error {
	cannot := func(what, hint string) error {
		return &fault.Error{Boundary: fault.Data, Kind: fault.Refused, Where: t.ID, What: what, Hint: hint}
	}
	switch {
	case len(t.Steps) == 0:
		return cannot("the episode has no steps", "choose an episode that was played in an environment")
	case t.Seed == 0:
		return cannot("the episode has no seed, so the environment cannot start it again", "choose an episode that Merit played")
	}
	for i := range t.Steps {
		if n := t.Steps[i].MessageCount; n < 1 || n >= len(t.Messages) || i > 0 && n <= t.Steps[i-1].MessageCount {
			return cannot(fmt.Sprintf("step %d saw %d of %d messages", i, n, len(t.Messages)), "restore the file, or play the episode again")
		}
	}
	return nil
}

// replay plays the whole recording once, and records what the policy sees.
func (g *Game) replay(ctx context.Context) error {
	r := g.replayer
	r.until, r.first, r.stop, r.see = len(g.Episode.Steps), nil, true, g.look
	defer func() { r.stop, r.see = false, nil }()
	all, err := g.collect(ctx, 1)
	if err != nil {
		return err
	}
	t := all[0]
	if t.StopReason == rl.StopError {
		return r.differs(len(t.Steps), t.Error)
	}
	if err := r.repeated(t, len(g.Episode.Steps)); err != nil {
		return err
	}
	g.end = g.results(all)[0]
	return nil
}

// repeated returns an error if the first n steps of t are not those of the recording.
func (r *replayer) repeated(t *rl.Trajectory, n int) error {
	for i := range n {
		if i >= len(t.Steps) {
			return r.differs(i, "the episode has ended before it")
		}
		x, y := &r.t.Steps[i], &t.Steps[i]
		switch {
		case x.Anchor != y.Anchor:
			return r.differs(i, fmt.Sprintf("recorded state %.80q, and now %.80q", x.Anchor, y.Anchor))
		case x.EnvReward != y.EnvReward:
			return r.differs(i, fmt.Sprintf("recorded reward %v, and now %v", x.EnvReward, y.EnvReward))
		case x.Terminated != y.Terminated || x.Truncated != y.Truncated && i < len(r.t.Steps)-1:
			return r.differs(i, "the episode ends at another step")
		case x.ActionValid != y.ActionValid:
			return r.differs(i, fmt.Sprintf("recorded a valid action: %v, and now %v", x.ActionValid, y.ActionValid))
		}
	}
	return nil
}

// look records what the policy sees at a step, with the probabilities of its actions.
func (g *Game) look(ctx context.Context, step int, o policy.Observation) error {
	s := &g.Seen[step]
	s.Available = nil
	var asked []policy.Observation
	var choices []policy.Decision
	for i, name := range o.Actions {
		if o.Mask == nil || o.Mask[i] != 0 {
			s.Available = append(s.Available, name)
			asked = append(asked, o)
			choices = append(choices, policy.Decision{Action: rl.Action{Kind: rl.ActionChoice, Choice: i, Text: name}})
		}
	}
	rater, ok := g.options.Policy.(policy.Rater)
	if !ok || len(asked) == 0 {
		return nil
	}
	if err := rater.Rate(ctx, asked, choices); err != nil {
		return err
	}
	for _, d := range choices {
		s.P = append(s.P, math.Exp(d.LogProb))
	}
	if choices[0].HasValue {
		s.Value = &choices[0].Value
	}
	return nil
}

// move returns the decision that takes an action at a step.
func (g *Game) move(step int, action string) (*policy.Decision, error) {
	actions := g.options.Session.Plugin.Actions
	if len(actions) == 0 {
		return &policy.Decision{Raw: action, Info: chosenBy}, nil
	}
	if seen := g.Seen[step].Available; !slices.Contains(seen, action) {
		return nil, &fault.Error{
			Boundary: fault.CLI, Kind: fault.Invalid, Where: fmt.Sprintf("%s step %d", g.Episode.ID, step),
			What: fmt.Sprintf("the action %q is not available", action), Hint: fmt.Sprintf("use one of %q", seen),
		}
	}
	return &policy.Decision{Action: rl.Action{Kind: rl.ActionChoice, Choice: slices.Index(actions, action), Text: action}, Info: chosenBy}, nil
}

// continued plays the recording up to a step, then takes the action, or leaves it to the policy
// if that is nil, and lets the policy continue.
func (g *Game) continued(ctx context.Context, until int, action *string) ([]Result, error) {
	key := fmt.Sprint(until)
	var first *policy.Decision
	if action != nil {
		var err error
		if first, err = g.move(until, *action); err != nil {
			return nil, err
		}
		key += " " + *action
	}
	if until == len(g.Episode.Steps) && g.Episode.StopReason != rl.StopError {
		return slices.Repeat([]Result{g.end}, g.options.Continuations), nil
	}
	if g.known[key] != nil {
		return g.known[key], nil
	}
	g.replayer.until, g.replayer.first = until, first
	all, err := g.collect(ctx, g.options.Continuations)
	if err != nil {
		return nil, err
	}
	for i, t := range all {
		if err := g.keep(t, until, fmt.Sprintf("%s-s%s", g.Episode.ID, key), i); err != nil {
			return nil, err
		}
	}
	g.known[key] = g.results(all)
	return g.known[key], nil
}

// keep checks and counts continuation i.
func (g *Game) keep(t *rl.Trajectory, until int, group string, i int) error {
	g.Replayed += min(until, len(t.Steps))
	g.Played += max(0, len(t.Steps)-until)
	if t.StopReason != rl.StopError {
		if err := g.replayer.repeated(t, until); err != nil {
			return err
		}
	}
	if g.options.Keep == nil {
		return nil
	}
	t.ID, t.Group = fmt.Sprintf("%s-m%d", group, i), group
	return g.options.Keep(t)
}

// collect plays and scores n episodes. They have the same random numbers for each state of the
// game, so the results of two states or actions are paired.
func (g *Game) collect(ctx context.Context, n int) ([]*rl.Trajectory, error) {
	plan := rollout.Plan{
		Seed: rl.Seed(g.options.Session.Config.Seed).Path(credit.SeedRollout, g.Episode.Seed), Groups: 1, Members: n,
		Starts: []uint64{g.Episode.Seed}, Greedy: g.options.Greedy,
	}
	played, err := g.player.Play(ctx, plan, g.count())
	if err != nil {
		return nil, err
	}
	batch, err := g.scoring.Assign(played.Scored)
	if batch == nil {
		return nil, err
	}
	return batch.Trajectories, nil // those without a score are counted
}

// count returns what reports the progress of a collection.
func (g *Game) count() func(rollout.Progress) {
	before := g.done
	return func(p rollout.Progress) {
		if g.done = before + p.Episodes; g.options.Progress != nil {
			g.options.Progress(g.done)
		}
	}
}
