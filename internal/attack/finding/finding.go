// Package finding holds what an attack on a reward reports: replies that score high and are
// wrong, each with the reasons why it is wrong and the place that accepts it.
package finding

import "github.com/merit-rl/merit/core/rl"

// Finding is a reply that scores high and is wrong.
type Finding struct {
	ID       string         // stable: a digest of reward, cause and reply, 12 hex digits
	Task     string         // the id of the row
	Row      *rl.Trajectory // the row with the reply; complete, so that it can be scored again
	Reply    string         // minimized
	Score    float64        // its score
	Right    float64        // the score of the task's right reply
	Wrong    float64        // the score of a wrong reply to the task: the lowest that is known
	Doubt    string         // which second opinion says that it is wrong: swapped truth, metamorphic relation, reference, judge …
	Evidence []string       // in plain words, each a sentence that can be checked by hand
	Kind     string         // what was tried, in plain words: "all options at once"
	Cause    string         // key of its cluster: the branch that accepts it, or the kind
	File     string         // where the hole is, relative to the reward; empty if unknown
	Line     int            // 1-based; 0 if unknown
	Source   string         // that line
	Others   int            // further findings of the same cause
}
