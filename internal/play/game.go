// Package play continues recorded episodes. It plays a recorded episode again up to a step,
// takes another action there, lets the policy continue several times, and compares how the
// episodes end. The difference to the recorded action's own continuations is due to the action:
// both start in the same state and use the same random numbers.
package play

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

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
	// Progress, if it is not nil, receives the number of continuations that are finished of those
	// that a call plays.
	Progress func(done int)
	// Keep, if it is not nil, receives every continuation that is played, after the recorded
	// episode, which they branch off.
	Keep func(*rl.Trajectory) error
}

// Player continues recorded episodes, one at a time. Its environments stay open until Close.
type Player struct {
	options   Options
	replayer  *replayer
	collector *rollout.Collector
	scoring   *credit.Pipeline
}

// New returns a player. No environment is opened before the first game.
func New(o Options) (*Player, error) {
	cfg := o.Session.Config
	if train.Compares(o.Session.Parts) {
		return nil, &fault.Error{
			Boundary: fault.Config, Kind: fault.Refused, Where: "rewards", What: "a reward compares the members of a group, so one continuation has no score",
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
	p.collector, err = rollout.New(settings, open, p.replayer)
	return p, err
}

// Close shuts the environments down.
func (p *Player) Close() error { return p.collector.Close() }

// Game is a recorded episode that can be continued from each of its steps. It ends when its
// player opens another one. Its methods must not be called concurrently.
type Game struct {
	*Player
	Episode *rl.Trajectory
	Seen    []Seen // by step
	// Repeated counts the steps of the recording that the environment took again to reach the
	// states of continuations, and Played the steps of the continuations. Where the environment
	// saves states, Repeated depends on the number of slots.
	Repeated, Played int

	kept  int                 // number of episodes that Options.Keep has
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
	whole := *t
	t, whole.Group = &whole, cmp.Or(t.Group, t.ID)
	if n := len(t.Messages) - 1; t.StopReason == rl.StopError && t.Messages[n].Role == rl.RoleAssistant { // never answered
		t.Messages = t.Messages[:n]
	}
	g := &Game{Player: p, Episode: t, Seen: make([]Seen, len(t.Steps)), known: map[string][]Result{}}
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
	*g.replayer = replayer{Policy: g.replayer.Policy, t: g.Episode, prompts: promptsOf(g.Episode), see: g.look}
	defer func() { g.replayer.t = nil }()
	plan := g.plan()
	plan.Groups, plan.Members, plan.Starts = 1, 1, []uint64{g.Episode.Seed}
	groups, _, err := g.collector.Collect(ctx, plan, nil)
	if err != nil {
		return err
	}
	t := groups[0].Trajectories[0]
	if t.StopReason == rl.StopError {
		return differs(g.Episode, len(t.Steps), t.Error)
	}
	if err := repeats(g.Episode, t); err != nil {
		return err
	}
	results, err := g.score(ctx, groups)
	if err != nil {
		return err
	}
	g.end = results[0]
	return nil
}

// plan returns the randomness of all that g plays.
func (g *Game) plan() rollout.Plan {
	seed := rl.Seed(g.options.Session.Config.Seed).Path(credit.SeedRollout, g.Episode.Seed)
	return rollout.Plan{Seed: seed, Greedy: g.options.Greedy}
}

// apart returns two different texts from shortly before their first difference on.
func apart(a, b string) (string, string) {
	const context = 30
	x, y := []rune(a), []rune(b)
	same := 0
	for same < min(len(x), len(y)) && x[same] == y[same] {
		same++
	}
	if same <= context {
		return a, b
	}
	return "…" + string(x[same-context:]), "…" + string(y[same-context:])
}

// repeats returns an error if t does not have the steps of the recording.
func repeats(recorded, t *rl.Trajectory) error {
	for i := range recorded.Steps {
		if i >= len(t.Steps) {
			return differs(recorded, i, "the episode has ended before it")
		}
		x, y := &recorded.Steps[i], &t.Steps[i]
		switch {
		case x.Anchor != y.Anchor:
			before, now := apart(x.Anchor, y.Anchor)
			return differs(recorded, i, fmt.Sprintf("recorded state %.80q, and now %.80q", before, now))
		case x.EnvReward != y.EnvReward:
			return differs(recorded, i, fmt.Sprintf("recorded reward %v, and now %v", x.EnvReward, y.EnvReward))
		case x.Terminated != y.Terminated || x.Truncated != y.Truncated && i < len(recorded.Steps)-1:
			return differs(recorded, i, "the episode ends at another step")
		case x.ActionValid != y.ActionValid:
			return differs(recorded, i, fmt.Sprintf("recorded a valid action: %v, and now %v", x.ActionValid, y.ActionValid))
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

// move returns the action that a text names at a step.
func (g *Game) move(step int, text string) (*rl.Action, error) {
	spec := g.options.Session.Plugin
	seen := g.Seen[step].Available
	switch {
	case len(spec.Actions) > 0 && slices.Contains(seen, text):
		return &rl.Action{Kind: rl.ActionChoice, Choice: slices.Index(spec.Actions, text), Text: text}, nil
	case len(spec.Actions) > 0:
		return nil, &fault.Error{
			Boundary: fault.CLI, Kind: fault.Invalid, Where: fmt.Sprintf("%s step %d", g.Episode.ID, step),
			What: fmt.Sprintf("the action %q is not available", text), Hint: "use one of " + strings.Join(seen, ", "),
		}
	}
	name, arguments, called := strings.Cut(strings.TrimSuffix(text, ")"), "(")
	if called && spec.Tools != nil && json.Valid([]byte(arguments)) {
		call := rl.ToolCall{ID: "call_person", Type: "function", Function: rl.FunctionCall{Name: name, Arguments: arguments}}
		return &rl.Action{Kind: rl.ActionTool, ToolCalls: []rl.ToolCall{call}}, nil
	}
	return &rl.Action{Kind: rl.ActionText, Text: text}, nil
}

// continued plays the recording up to a step, then takes the action, or leaves it to the policy
// if that is nil, and lets the policy continue. Continuation i has the same random numbers for
// every state and action, so results are paired.
func (g *Game) continued(ctx context.Context, at int, action *string) ([]Result, error) {
	if g.ended(at) {
		return slices.Repeat([]Result{g.end}, g.options.Continuations), nil
	}
	key := fmt.Sprint(at)
	branch := rollout.Branch{From: g.Episode, At: at, Luck: -1}
	switch {
	case action != nil:
		move, err := g.move(at, *action)
		if err != nil {
			return nil, err
		}
		key, branch.Action = key+" "+*action, move
	case at == len(g.Episode.Steps): // the recording broke off: its last step leads there
		branch.At, branch.Action = at-1, &g.Episode.Steps[at-1].Action
	}
	if g.known[key] != nil {
		return g.known[key], nil
	}
	results, err := g.play(ctx, slices.Repeat([]rollout.Branch{branch}, g.options.Continuations))
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(results, func(r Result) bool { return r.Stop != rl.StopError }) {
		return nil, differs(g.Episode, at, "every continuation failed: "+results[0].Error)
	}
	g.known[key] = results
	return results, nil
}

// ended reports whether the episode has ended before a step.
func (g *Game) ended(at int) bool {
	return at == len(g.Episode.Steps) && g.Episode.StopReason != rl.StopError
}

// play plays and scores continuations.
func (g *Game) play(ctx context.Context, branches []rollout.Branch) ([]Result, error) {
	for i := range branches {
		branches[i].Number = i
	}
	before := g.done
	all, stats, err := g.collector.Continue(ctx, g.plan(), branches, func(p rollout.Progress) {
		if g.done = before + p.Episodes; g.options.Progress != nil {
			g.options.Progress(g.done)
		}
	})
	if err != nil {
		return nil, err
	}
	g.Repeated, g.Played = g.Repeated+stats.Repeated, g.Played+stats.Steps
	results, err := g.score(ctx, []*rl.Group{{ID: g.Episode.Group, Trajectories: all}})
	if err != nil || g.options.Keep == nil {
		return results, err
	}
	return results, g.keep(all, branches)
}

// keep passes continuations on, after the recorded episode.
func (g *Game) keep(all []*rl.Trajectory, branches []rollout.Branch) error {
	if g.kept == 0 {
		if err := g.options.Keep(g.Episode); err != nil {
			return err
		}
	}
	for i, t := range all {
		t.ID = fmt.Sprintf("%s-b%d", g.Episode.Group, g.kept)
		t.BranchOf, t.BranchAt = g.Episode.ID, branches[i].At
		taken := branches[i].Action
		if g.kept++; taken != nil && taken != &g.Episode.Steps[t.BranchAt].Action && len(t.Steps) > t.BranchAt {
			choose(&t.Steps[t.BranchAt])
		}
		if err := g.options.Keep(t); err != nil {
			return err
		}
	}
	return nil
}

// choose marks that a person chose the action of a step.
func choose(s *rl.Step) {
	s.Info = maps.Clone(s.Info)
	if s.Info == nil {
		s.Info = map[string]json.RawMessage{}
	}
	s.Info["chosen_by"] = json.RawMessage(`"person"`)
}

// score scores whole episodes, those without a score too. A continuation counts as a separate
// episode.
func (g *Game) score(ctx context.Context, groups []*rl.Group) ([]Result, error) {
	for _, t := range groups[0].Trajectories {
		t.BranchOf, t.BranchAt = "", 0
	}
	scored, err := g.scoring.Score(ctx, groups)
	if err != nil {
		return nil, err
	}
	batch, err := g.scoring.Assign(scored)
	if batch == nil {
		return nil, err
	}
	return g.results(batch.Trajectories), nil // those without a score are counted
}
