// Package main is a reward for GSM8K: it compares the answer at the end of the
// last assistant message with the ground truth. It imports sdk/reward only.
package main

import (
	"strings"

	"github.com/merit-rl/merit/sdk/reward"
)

func init() { reward.Register(score) }

func main() {}

// score gives 1 for the right number and 0 for another or none.
func score(r *reward.Rollout) reward.Result {
	want, ok := number(r.GroundTruth.Text)
	if !ok {
		return reward.Invalid("the ground truth holds no number")
	}
	text, found := final(r.Answer())
	if !found {
		return reward.Result{Score: 0, Reason: "no answer after A: or ####"}
	}
	got, ok := number(text)
	if !ok {
		return reward.Result{Score: 0, Reason: "the answer holds no number"}
	}
	return reward.BoolScore(got == want)
}

// final returns the line behind the last "A:" or "####" that starts a line.
func final(answer string) (string, bool) {
	for rest := answer; rest != ""; {
		at := strings.LastIndexByte(rest, '\n')
		line := strings.TrimSpace(rest[at+1:])
		for _, mark := range [...]string{"A:", "####"} {
			if text, ok := strings.CutPrefix(line, mark); ok {
				return text, true
			}
		}
		rest = rest[:max(at, 0)]
	}
	return "", false
}
