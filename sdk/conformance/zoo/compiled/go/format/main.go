// Package main is a reward for the format of an answer; format.py says the same
// in Python.
package main

import (
	"regexp"
	"strings"

	"github.com/merit-rl/merit/sdk/reward"
)

var pattern = regexp.MustCompile(`(?s)^<think>\n.*?\n</think>\n<answer>\n.*?\n</answer>$`)

func init() { reward.Register(score) }

func main() {}

func score(r *reward.Rollout) reward.Result {
	text, once := r.Answer(), 0
	for _, tag := range []string{"<think>\n", "\n</think>\n", "\n<answer>\n", "\n</answer>"} {
		if strings.Count(text, tag) == 1 {
			once++
		}
	}
	total := 0.125 * float64(once)
	if pattern.MatchString(text) {
		total += 0.5
	}
	return reward.Score(total)
}
