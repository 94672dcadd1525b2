// Package main is the reward of htdag as a module: it reads what the execution
// of the plan is said to have come to, and gives what the environment itself
// gives by its default weights. So it scores episodes from files, too, and is
// the place to change what a plan is worth. make build compiles it to
// reward.wasm.
package main

import (
	"strconv"
	"strings"

	"github.com/merit-rl/merit/sdk/reward"
)

// The terms, each 0 … 1, by their weights.
const (
	success    = 1.0 // all went well
	efficiency = 0.3 // of a success: time and calls of the right plan over those of this one
	depth      = 0.2 // the plan has shallowest to deepest levels

	shallowest, deepest = 2, 4
)

func init() { reward.RegisterStream(score) }

func main() {}

func score(r *reward.Rollout, out *reward.Output) {
	if len(r.Messages) == 0 {
		out.Invalid("there is no message")
		return
	}
	said, ok := read(r.Messages[len(r.Messages)-1].Content)
	if !ok {
		out.Invalid("the last message does not say what came of a plan: the episode was cut")
		return
	}
	terms := said.terms()
	out.Score(success*terms[0] + efficiency*terms[1] + depth*terms[2])
	for i, name := range []string{"success", "efficiency", "depth"} {
		out.Metric(name, terms[i])
	}
}

// report is the last message of an episode, times in hundredths.
type report struct {
	success           bool
	depth             int
	time, rightTime   int
	calls, rightCalls int
}

// terms returns success, efficiency and depth in range.
func (r report) terms() [3]float64 {
	var t [3]float64
	if r.success {
		t[0], t[1] = 1, (atMost1(r.rightTime, r.time)+atMost1(r.rightCalls, r.calls))/2
	}
	if shallowest <= r.depth && r.depth <= deepest {
		t[2] = 1
	}
	return t
}

func atMost1(a, b int) float64 {
	if b <= a {
		return 1
	}
	return float64(a) / float64(b)
}

// read finds the lines of a report behind its first line; all must be there.
func read(text string) (r report, ok bool) {
	_, text, ok = strings.Cut(text, "The plan was executed.\n")
	if !ok {
		return r, false
	}
	found := 0
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimRight(line, "\n"), ": ")
		here, right, _ := strings.Cut(value, ", of the right plan ")
		good := true
		switch name {
		case "result":
			r.success, good = value == "success", value == "success" || value == "failure"
		case "depth":
			r.depth, good = number(value)
		case "execution time":
			r.time, r.rightTime, good = both(here, right)
		case "calls":
			r.calls, r.rightCalls, good = both(here, right)
		default:
			continue
		}
		if !good {
			return r, false
		}
		found++
	}
	return r, found == 4
}

func both(a, b string) (x, y int, ok bool) {
	x, first := number(a)
	y, second := number(b)
	return x, y, first && second
}

// number reads a whole number, or one with two decimals as hundredths.
func number(s string) (int, bool) {
	whole, decimals, found := strings.Cut(s, ".")
	if found && len(decimals) != 2 {
		return 0, false
	}
	n, err := strconv.Atoi(whole + decimals)
	return n, err == nil && n >= 0
}
