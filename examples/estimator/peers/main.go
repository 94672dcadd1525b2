// Package main is an estimator of advantages as a WebAssembly module: the score of an
// episode against the mean score of the other episodes that visited the state.
package main

import (
	"encoding/json"

	"github.com/merit-rl/merit/sdk/reward"
)

func init() { reward.Register(estimate) }

func main() {}

// row is what the estimator reads of a step. A row has more fields.
type row struct {
	Group       int     `json:"group"`
	Trajectory  int     `json:"trajectory"`
	Observation string  `json:"observation"`
	Score       float64 `json:"episode_score"`
}

type state struct {
	group       int
	observation string
}

// visits are the scores of the episodes that visited a state, once each.
type visits struct {
	seen map[int]bool
	sum  float64
}

// estimate returns one step reward for each row: its advantage.
func estimate(r *reward.Rollout) reward.Result {
	var rows []row
	if err := json.Unmarshal([]byte(r.Meta("rows").JSON), &rows); err != nil {
		return reward.Error(err)
	}
	states := map[state]*visits{}
	for _, x := range rows {
		key := state{x.Group, x.Observation}
		v := states[key]
		if v == nil {
			v = &visits{seen: map[int]bool{}}
			states[key] = v
		}
		if !v.seen[x.Trajectory] {
			v.seen[x.Trajectory] = true
			v.sum += x.Score
		}
	}
	result := reward.Score(0)
	for i, x := range rows {
		v, advantage := states[state{x.Group, x.Observation}], 0.0
		if others := len(v.seen) - 1; others > 0 {
			advantage = x.Score - (v.sum-x.Score)/float64(others)
		}
		result.Steps = append(result.Steps, reward.StepReward{Index: i, Reward: advantage})
	}
	return result
}
