package playcmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/policy"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/cli/terminal"
	"github.com/merit-rl/merit/internal/play"
	"github.com/merit-rl/merit/sdk/merit"
)

// table is where episodes are continued.
type table struct {
	*options
	session *merit.Session
	policy  policy.Policy
	who     string
	players map[string]*play.Player // by split
	out     output
	bar     *terminal.Progress
}

// close closes the players.
func (t *table) close() error {
	var problems []error
	for _, p := range t.players {
		problems = append(problems, p.Close())
	}
	return errors.Join(problems...)
}

// play does what the flags say with the episodes.
func (t *table) play(ctx context.Context, episodes []*rl.Trajectory) (err error) {
	if t.At == every {
		return t.curves(ctx, episodes)
	}
	g, err := t.game(ctx, episodes[0])
	if err != nil {
		return err
	}
	if t.At == "" {
		return (&session{table: t, game: g}).run(ctx)
	}
	step, _ := strconv.Atoi(t.At) // checked
	if last := len(g.Episode.Steps) - 1; step > last {
		return &fault.Error{
			Boundary: fault.CLI, Kind: fault.Invalid, Where: "--at", What: fmt.Sprintf("%s has no step %d", g.Episode.ID, step),
			Hint: fmt.Sprintf("use a step from 0 to %d", last),
		}
	}
	if t.out, err = t.create(); err != nil {
		return err
	}
	f, err := t.fork(ctx, g, step, t.Action)
	if err := t.out.close(err); err != nil {
		return err
	}
	if t.host.Global.JSON {
		return t.host.PrintJSON(f)
	}
	return t.print(t.stepText(g, step) + "\n" + t.forkText(f))
}

func (t *table) print(text string) error {
	w := t.host.Stdout
	if t.Out == "-" {
		w = t.host.Stderr
	}
	_, err := io.WriteString(w, text)
	return err
}

// game opens an episode.
func (t *table) game(ctx context.Context, episode *rl.Trajectory) (*play.Game, error) {
	split := t.Split
	if split == "" {
		var err error
		if split, err = play.SplitOf(episode); err != nil {
			return nil, err
		}
	}
	p := t.players[split]
	if p == nil {
		var err error
		if p, err = play.New(play.Options{
			Session: t.session, Policy: t.policy, Split: split, Greedy: t.Greedy, Continuations: t.Times, Progress: t.progress, Keep: t.keep,
		}); err != nil {
			return nil, err
		}
		t.players[split] = p
	}
	return p.Open(ctx, episode)
}

func (t *table) progress(done int) {
	if t.bar != nil {
		t.bar.Set(int64(done), "")
	}
}

// keep writes a continuation, unless the output is for process rewards.
func (t *table) keep(c *rl.Trajectory) error {
	if t.At == every {
		return nil
	}
	return t.out.write(c)
}

// fork tries actions at a step, and shows the progress.
func (t *table) fork(ctx context.Context, g *play.Game, step int, actions []string) (*play.Fork, error) {
	branches := len(actions)
	if branches == 0 {
		branches = len(g.Seen[step].Available) + 1 // with the policy's own choice
	}
	t.bar = t.host.Progress("playing on", "episodes", int64(t.Times*(branches+1)))
	defer t.spent(g, *g)
	return g.Fork(ctx, step, actions)
}

// spent ends the progress, and says what was played since before, if anything was.
func (t *table) spent(g *play.Game, before play.Game) {
	t.bar.Close()
	t.bar = nil
	if !t.host.Global.Quiet && g.Played > before.Played {
		fmt.Fprintf(t.host.Stderr, "repeated %s of the recording, played %s\n",
			terminal.Count(g.Repeated-before.Repeated, "step"), terminal.Count(g.Played-before.Played, "new step"))
	}
}

// curves continues from every step of the episodes.
func (t *table) curves(ctx context.Context, episodes []*rl.Trajectory) (err error) {
	if t.out, err = t.create(); err != nil {
		return err
	}
	var all []*play.Curve
	var g *play.Game
	for _, episode := range episodes {
		if g, err = t.game(ctx, episode); err != nil {
			return t.out.close(err)
		}
		c, err := t.curve(ctx, g)
		if err != nil {
			return t.out.close(err)
		}
		all = append(all, c)
	}
	if err := t.out.close(nil); err != nil {
		return err
	}
	switch {
	case t.host.Global.JSON:
		return t.host.PrintJSON(map[string]any{"episodes": all})
	case len(all) == 1:
		text, err := t.found(ctx, g, all[0])
		return errors.Join(err, t.print(text))
	}
	return t.print(t.turnsText(all))
}

// mostActions is the largest number of actions that are all tried at the step at which an episode
// was lost, without being asked.
const mostActions = 8

// found shows a curve and, if the episode was lost at a step, what other actions there lead to.
func (t *table) found(ctx context.Context, g *play.Game, c *play.Curve) (string, error) {
	text := t.curveText(c)
	if c.Lost == nil {
		return text, nil
	}
	text += "\n" + t.stepText(g, c.Lost.Step)
	if n := len(g.Seen[c.Lost.Step].Available); n == 0 || n > mostActions {
		return text, nil
	}
	f, err := t.fork(ctx, g, c.Lost.Step, nil)
	if err != nil {
		return text, err
	}
	return text + "\n" + t.forkText(f), nil
}

// curve continues an episode from every step, and writes its process rewards.
func (t *table) curve(ctx context.Context, g *play.Game) (*play.Curve, error) {
	t.bar = t.host.Progress(terminal.Clean(g.Episode.ID), "episodes", int64(len(g.Episode.Steps)*t.Times))
	defer t.spent(g, *g)
	c, err := g.Curve(ctx)
	if err != nil {
		return nil, err
	}
	for _, row := range c.Rows(g.Episode) {
		if err := t.out.write(row); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// style returns how results are colored.
func (t *table) style() terminal.Style { return t.host.OutStyle() }
