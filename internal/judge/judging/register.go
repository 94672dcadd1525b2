package judging

import (
	"context"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/sdk/merit"
)

func init() { merit.RegisterJudge(new(Config)) }

// Of returns the judge of a reward, or nil if it has none.
func Of(r merit.Reward) *Config {
	c, _ := r.Judge.(*Config)
	return c
}

// OpenReward implements merit.RewardSection.
func (c *Config) OpenReward(_ context.Context, o merit.RewardOptions) (opened merit.OpenedReward, err error) {
	j, err := Open(*c, Options{Getenv: o.Getenv, Log: o.Log})
	if err != nil {
		return opened, err
	}
	return merit.OpenedReward{Scorer: j, Ready: j.Ready, Close: j.Close}, nil
}

// Advice implements merit.Adviser.
func (j *Judge) Advice() (fault.Boundary, string) {
	return fault.Model, "check that the judge's server runs and serves its model"
}
