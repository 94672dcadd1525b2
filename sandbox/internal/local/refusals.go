package local

import (
	"slices"

	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/sandbox/internal/result"
	"github.com/merit-rl/merit/sandbox/internal/text"
)

// refusals returns what the system refused the compiled reward since the last
// Begin, except for the kinds that its manifest says it can do without. Scripts
// count refusals themselves, because only they know which line made the
// request.
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

// swallowed returns the verdict on a compiled reward that returned a score
// although the system had refused it something; nil if it did not.
func (w *worker) swallowed() *result.Verdict {
	if len(w.instance.Refused()) == 0 || !w.collector.Scored() {
		return nil
	}
	return result.Swallowed(w.refusals())
}
