package merit

import (
	"context"
	"errors"
	"fmt"

	"github.com/merit-rl/merit/core/env"
	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/base/box"
	"github.com/merit-rl/merit/internal/harbor/gym"
	"github.com/merit-rl/merit/internal/host"
)

// tasks returns the problems of an environment of Harbor tasks.
func (e Environment) tasks() (p fault.Problems) {
	p.Check(e.Plugin == "", "plugin", e.Plugin, "remove it, or remove environment.harbor")
	p.Check(e.Module == "", "module", e.Module, "remove it, or remove environment.harbor")
	p.Check(len(e.Mixture) == 0, "mixture", "a mixture", "remove it, or remove environment.harbor")
	text, err := optionsJSON(e.Options)
	if err == nil {
		_, err = gym.ParseOptions(text)
	}
	return append(p, fault.Leaves(err)...)
}

// world is the tasks of environment.harbor and what makes their machines.
type world struct {
	*gym.World
	maker box.Maker
}

// Close implements io.Closer.
func (w world) Close() error {
	w.World.Close()
	w.maker.Close()
	return nil
}

// openHarbor is openPlayed for a folder of Harbor tasks, which all workers share.
func (s *Session) openHarbor(ctx context.Context, o *options, splits []string) error {
	e, cfg := s.Config.Environment, s.Config.Sandbox
	text, err := optionsJSON(e.Options)
	if err != nil {
		return err
	}
	settings, err := gym.ParseOptions(text)
	if err != nil {
		return err
	}
	if cfg.CacheDir == "" {
		cfg.CacheDir = CacheFolder(o.getenv)
	}
	w := world{}
	if w.maker, err = cfg.OpenBoxes(ctx); err != nil {
		return err
	}
	if w.World, err = gym.Load(ctx, w.maker, e.Harbor, settings); err != nil {
		w.maker.Close()
		return s.Config.Places.Explain("", err)
	}
	if n := len(w.Skipped); n > 0 && o.log != nil {
		o.log.Warn(fmt.Sprintf("%d tasks of %s need more than a machine has, and are left out", n, e.Harbor))
	}
	s.harbor = w
	o.open = func(_ context.Context, split string, _ int) (env.Env, error) { return w.Open(split, e.Slots) }
	if err := s.describe(ctx, o.open, splits); err != nil {
		return errors.Join(err, w.Close())
	}
	s.Plugin.Kind, s.Plugin.Digest = host.Environment, w.Digest()
	return nil
}

// Close frees what Open loaded.
func (s *Session) Close() (err error) {
	if s.Rewards != nil {
		err = s.Rewards.Close()
	}
	if s.harbor != nil {
		err = errors.Join(err, s.harbor.Close())
	}
	return err
}
