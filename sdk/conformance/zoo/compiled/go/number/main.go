// Package main is a reward for the number at the end of an answer; number.py says
// the same in Python.
package main

import (
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/merit-rl/merit/sdk/reward"
)

var number = regexp.MustCompile(`-?[0-9][0-9,]*(?:\.[0-9]+)?`)

func init() { reward.Register(score) }

func main() {}

func score(r *reward.Rollout) reward.Result {
	want, err := strconv.ParseFloat(r.GroundTruth.Text, 64)
	if err != nil {
		return reward.Error(err)
	}
	text := r.Answer()
	found := number.FindAllString(text[max(0, strings.LastIndex(text, "####")):], -1)
	if len(found) == 0 {
		return reward.Score(0)
	}
	got, err := strconv.ParseFloat(strings.ReplaceAll(found[len(found)-1], ",", ""), 64)
	if err != nil {
		return reward.Error(err)
	}
	if got == want {
		return reward.Score(1)
	}
	return reward.Score(max(0, 0.5-math.Abs(got-want)/(math.Abs(want)+1)))
}
