// Package main compares the number at the end of the last assistant message
// with the ground truth. The rules stand in sdk/conformance/README.md: the
// same reward exists in every language. It imports sdk/reward only.
package main

import (
	"strconv"
	"strings"

	"github.com/merit-rl/merit/sdk/reward"
)

func init() { reward.Register(score) }

func main() {}

func score(r *reward.Rollout) reward.Result {
	want, ok := number(r.GroundTruth.Text)
	if !ok {
		return reward.Invalid("the ground truth holds no number")
	}
	text, ok := final(r.Answer())
	if !ok {
		return reward.Result{Reason: "no answer after A: or ####"}
	}
	got, ok := number(text)
	if !ok {
		return reward.Result{Reason: "the answer holds no number"}
	}
	return reward.BoolScore(got == want)
}

// final returns the text behind the last "A:" or "####" that begins a line.
func final(answer string) (string, bool) {
	for rest := answer; rest != ""; {
		at := strings.LastIndexByte(rest, '\n')
		line := strings.Trim(rest[at+1:], " \t\v\f\r")
		rest = rest[:max(at, 0)]
		for _, mark := range [...]string{"A:", "####"} {
			if text, ok := strings.CutPrefix(line, mark); ok {
				return text, true
			}
		}
	}
	return "", false
}

// number reads the first number of a text that may hold a currency sign,
// thousands separators, units and a full stop.
func number(text string) (float64, bool) {
	start := strings.IndexAny(text, "0123456789")
	if start < 0 {
		return 0, false
	}
	end := start
scan:
	for point := false; end < len(text); end++ {
		switch c := text[end]; {
		case c >= '0' && c <= '9':
		case c == ',' && digitAt(text, end+1):
		case c == '.' && !point && digitAt(text, end+1):
			point = true
		default:
			break scan
		}
	}
	before, point := strings.CutSuffix(text[:start], ".")
	digits := strings.ReplaceAll(text[start:end], ",", "")
	if point {
		digits = "0." + digits
	}
	value, err := strconv.ParseFloat(digits, 64)
	before = strings.TrimRight(before, "$€£ ")
	if strings.HasSuffix(before, "-") || strings.HasSuffix(before, "−") {
		value = -value
	}
	return value, err == nil
}

func digitAt(text string, i int) bool {
	return i < len(text) && text[i] >= '0' && text[i] <= '9'
}
