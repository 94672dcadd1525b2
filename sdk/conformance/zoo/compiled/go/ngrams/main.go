// Package main is a penalty for repeated trigrams; ngrams.py says the same in
// Python.
package main

import (
	"math"
	"strings"

	"github.com/merit-rl/merit/sdk/reward"
)

func init() { reward.Register(score) }

func main() {}

func score(r *reward.Rollout) reward.Result {
	words := strings.Fields(r.Answer())
	grams := map[[3]string]bool{}
	for i := 2; i < len(words); i++ {
		grams[[3]string(words[i-2:i+1])] = true
	}
	if len(grams) == 0 {
		return reward.Score(0)
	}
	share := float64(len(grams)) / float64(len(words)-2)
	return reward.Score(math.Copysign(1-share, -1))
}
