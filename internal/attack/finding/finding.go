// Package finding holds what an attack on a reward reports: replies that score high and are
// wrong, each with the reasons why it is wrong and the place that accepts it.
package finding

import "github.com/merit-rl/merit/core/rl"

// Finding is a reply that scores high and is wrong.
type Finding struct {
	ID       string         `json:"id"`    // stable: a digest of reward, cause and reply, 12 hex digits
	Task     string         `json:"task"`  // the id of the row
	Row      *rl.Trajectory `json:"row"`   // the row with the reply; complete, so that it can be scored again
	Reply    string         `json:"reply"` // minimized
	Score    float64        `json:"score"` // its score
	Right    float64        `json:"right"` // the score of the task's right reply
	Wrong    float64        // the score of a wrong reply to the task: the lowest that is known
	Doubt    string         `json:"doubt"`            // which second opinion says that it is wrong: swapped truth, metamorphic relation, reference, judge …
	Evidence []string       `json:"evidence"`         // in plain words, each a sentence that can be checked by hand
	Kind     string         `json:"kind"`             // what was tried, in plain words: "all options at once"
	Cause    string         `json:"cause"`            // key of its cluster: the branch that accepts it, or the kind
	File     string         `json:"file,omitempty"`   // where the hole is, relative to the reward; empty if unknown
	Line     int            `json:"line,omitempty"`   // 1-based; 0 if unknown
	Source   string         `json:"source,omitempty"` // that line
	Others   int            `json:"others"`           // further findings of the same cause
}
