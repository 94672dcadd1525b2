package local

import (
	"slices"

	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/sandbox/internal/result"
	"github.com/merit-rl/merit/sandbox/internal/text"
)

// refusals is what the compiled reward has asked the system for since the last
// Begin and did not get, but for the kinds that it says it does without. Scripts
// count for themselves: only they know which line asked.
func (w *worker) refusals() (list []reward.Refusal) {
	if w.module.script {
		return nil
	}
	for _, r := range w.instance.Refused() {
		if !slices.Contains(w.module.manifest.Without, r.Kind) {
			list = append(list, reward.Refusal{Kind: r.Kind, What: r.What, Count: r.Count})
		}
	}
	return reward.Told(list, text.Escape)
}

// swallowed is the verdict on a compiled reward that went on to a score after
// the system had refused it something; nil if it did not.
func (w *worker) swallowed() *result.Verdict {
	if len(w.instance.Refused()) == 0 || !w.collector.Scored() {
		return nil
	}
	return result.Swallowed(w.refusals())
}
