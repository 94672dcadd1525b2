// Package main is the F1 of the words of answer and truth; f1.py says the same in
// Python.
package main

import (
	"regexp"
	"strings"

	"github.com/merit-rl/merit/sdk/reward"
)

var word = regexp.MustCompile(`[a-z0-9]+`)

func init() { reward.Register(score) }

func main() {}

func score(r *reward.Rollout) reward.Result {
	got, want := words(r.Answer()), words(r.GroundTruth.Text)
	left, common := map[string]int{}, 0
	for _, w := range want {
		left[w]++
	}
	for _, w := range got {
		if left[w] > 0 {
			left[w]--
			common++
		}
	}
	if common == 0 {
		return reward.Score(0)
	}
	precision, recall := float64(common)/float64(len(got)), float64(common)/float64(len(want))
	return reward.Score(2 * precision * recall / (precision + recall))
}

func words(text string) []string { return word.FindAllString(strings.ToLower(text), -1) }
