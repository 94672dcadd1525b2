package reward

import (
	"fmt"
	"strings"

	"github.com/merit-rl/merit/core/fault"
)

// Count is how often an outcome occurred.
type Count struct {
	Outcome Outcome `json:"outcome"`
	N       int     `json:"n"`
}

// Tally counts evaluations by outcome, in the order of Outcomes, without those
// that did not occur.
func Tally(evaluations []Evaluation) []Count {
	n := map[Outcome]int{}
	for i := range evaluations {
		n[evaluations[i].Outcome]++
	}
	var counts []Count
	for _, o := range Outcomes {
		if n[o] > 0 {
			counts = append(counts, Count{o, n[o]})
		}
	}
	return counts
}

// namedUnscored is how many evaluations CheckUnscored quotes.
const namedUnscored = 3

// CheckUnscored returns a *fault.Error when more than the share limit of
// evaluations has no score: how many, by outcome, and the first ones with
// their reasons. Name returns the id of trajectory i. The kind is
// fault.Unaligned if most of them are Unaligned, else fault.Unscored.
func CheckUnscored(evaluations []Evaluation, name func(i int) string, limit float64) error {
	unscored := 0
	var first, outcomes []string
	for i, e := range evaluations {
		if e.Outcome == Scored {
			continue
		}
		if unscored++; unscored <= namedUnscored {
			first = append(first, fmt.Sprintf("%s: %s (%s)", name(i), e.Outcome, e.Reason))
		}
	}
	if float64(unscored) <= limit*float64(len(evaluations)) {
		return nil
	}
	kind := fault.Unscored
	for _, c := range Tally(evaluations) {
		if c.Outcome == Scored {
			continue
		}
		outcomes = append(outcomes, fmt.Sprintf("%s %d", c.Outcome, c.N))
		if c.Outcome == Unaligned && 2*c.N > unscored {
			kind = fault.Unaligned
		}
	}
	return &fault.Error{
		Boundary: fault.Sandbox, Kind: kind, Where: name(firstUnscored(evaluations)),
		What: fmt.Sprintf("%d of %d evaluations have no score (%s), more than the allowed %g %%; first: %s",
			unscored, len(evaluations), strings.Join(outcomes, ", "), limit*100, strings.Join(first, "; ")),
		Hint: "look at one of them in detail, or raise max_unscored",
	}
}

func firstUnscored(evaluations []Evaluation) int {
	for i := range evaluations {
		if evaluations[i].Outcome != Scored {
			return i
		}
	}
	return -1
}
