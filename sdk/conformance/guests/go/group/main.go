// Package main is the conformance guest in Go, as a group reward.
package main

import (
	"github.com/merit-rl/merit/sdk/conformance/guests/go/internal/check"
	"github.com/merit-rl/merit/sdk/reward"
	"github.com/merit-rl/merit/sdk/reward/group"
)

func init() { group.Register(rank) }

func main() {}

func rank(members []*reward.Rollout) []reward.Result {
	results := make([]reward.Result, len(members))
	for i, r := range members {
		results[i] = check.Rollout(r)
		results[i].Metrics = append(results[i].Metrics, reward.Metric{Name: "members", Value: float64(len(members))})
	}
	return results
}
