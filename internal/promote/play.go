package promote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/merit-rl/merit/core/policy"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/core/run"
	"github.com/merit-rl/merit/sdk/merit"
)

// Player plays each start with the promoted version or with the fallback policy,
// depending on the share and the start's seed. The info of each step records
// which.
type Player struct {
	share              float64
	promoted, fallback policy.Learner // nil if it never plays
	name               [2]json.RawMessage
	who                run.Player
}

var _ policy.Policy = (*Player)(nil)

// Open opens the policies of the promotion folder for the environment of session, whose
// configuration is that of State.ConfigDir. Close the player after use.
func Open(ctx context.Context, session *merit.Session, s *State) (*Player, error) {
	p := &Player{share: s.Share, who: s.plays()}
	if s.Current == 0 {
		p.share = 0
	}
	p.name[0], _ = json.Marshal(s.Fallback)
	p.name[1], _ = json.Marshal(fmt.Sprintf("version %d", s.Current)) // a string always has a JSON form
	if p.share > 0 {
		checkpoint, err := run.ReadCheckpoint(s.versionDir(s.Current), run.Best)
		if err != nil {
			return nil, err
		}
		if err := s.holds(checkpoint); err != nil {
			return nil, err
		}
		cfg, err := merit.LoadRun(s.versionDir(s.Current))
		if err != nil {
			return nil, err
		}
		if p.promoted, err = session.OpenPlayer(ctx, cfg, checkpoint); err != nil {
			return nil, err
		}
		p.who.Policy = cfg.WhoActs(p.promoted)
	}
	if p.share < 1 {
		cfg, err := merit.LoadRun(filepath.Join(s.dir, fallbackDir))
		if err == nil {
			p.fallback, err = session.OpenPlayer(ctx, cfg, nil)
		}
		if err != nil {
			return nil, errors.Join(err, p.Close())
		}
		if p.share == 0 {
			p.who = run.Player{Policy: cfg.WhoActs(p.fallback)}
		}
	}
	return p, nil
}

// Who returns the player's description for evaluations.
func (p *Player) Who() run.Player { return p.who }

// plays reports whether the promoted version plays a start.
func (p *Player) plays(start uint64) bool {
	return rl.Seed(start).Child(draw).Uniform() < p.share
}

// draw separates this choice from the start's own randomness.
const draw = 1

// Act implements policy.Policy.
func (p *Player) Act(ctx context.Context, observations []policy.Observation, decisions []policy.Decision) error {
	var rows [2][]int
	for i := range observations {
		k := 0
		if p.plays(observations[i].Start) {
			k = 1
		}
		rows[k] = append(rows[k], i)
	}
	for k, player := range []policy.Learner{p.fallback, p.promoted} {
		if len(rows[k]) == 0 {
			continue
		}
		asked, answers := make([]policy.Observation, len(rows[k])), make([]policy.Decision, len(rows[k]))
		for j, i := range rows[k] {
			asked[j] = observations[i]
		}
		if err := player.Act(ctx, asked, answers); err != nil {
			return err
		}
		for j, i := range rows[k] {
			decisions[i] = answers[j]
			decisions[i].Info = with(answers[j].Info, p.name[k])
		}
	}
	return nil
}

func with(info map[string]json.RawMessage, player json.RawMessage) map[string]json.RawMessage {
	all := map[string]json.RawMessage{"player": player}
	for key, value := range info {
		all[key] = value
	}
	return all
}

// Version implements policy.Policy: the version of the promoted policy, 0 without one.
func (p *Player) Version() uint64 {
	if p.promoted == nil {
		return 0
	}
	return p.promoted.Version()
}

// Close closes both policies.
func (p *Player) Close() error {
	var problems []error
	for _, player := range []policy.Learner{p.fallback, p.promoted} {
		if player != nil {
			problems = append(problems, player.Close())
		}
	}
	return errors.Join(problems...)
}
