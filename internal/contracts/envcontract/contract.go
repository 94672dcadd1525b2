// Package envcontract checks the contract of env.Env on a real environment. Each
// check tests one promise, and its result reports what is wrong and where. The
// promises are the same for an environment in this process and behind a plug-in.
// Package envtest runs the checks in tests.
package envcontract

import (
	"context"
	"fmt"

	"github.com/merit-rl/merit/core/env"
	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/base/checks"
)

// Open opens the environment to check, with any number of slots. It is called
// anew for each promise; the check closes the environment.
type Open func(ctx context.Context) (env.Env, error)

// Options configure how the environment is played.
type Options struct {
	// Texts are the actions, in turn, for an environment whose actions are free
	// text. If empty, the checks use typical answers of language models, and
	// calls of the tools that the environment offers.
	Texts []string
}

// trial is a promise, a hint for the author if it is broken, and its check.
type trial struct {
	promise, hint string
	check         func(*driver)
}

var trials = []trial{
	{"the spec is valid and does not change", "return the same Spec from every call; it describes the configured environment", specStays},
	{"every column has the right length", "fill one row for each slot, with the width that the spec declares", columnsFit},
	{"no slot fails during play", "treat an answer that makes no sense as an invalid action, not as an error", slotsLive},
	{"features and rewards are finite, and a reset gives no reward", "look for a division by zero or a logarithm of 0; give no reward in a reset", numbersFinite},
	{"texts are UTF-8 and each state has an anchor", "set turn.Anchor to the raw observation, in UTF-8: GiGPO tells states apart by it", textsSane},
	{"masks are 0 or 1 and leave an action available during an episode", "terminate the episode if no action is possible, or leave an action available", masksSane},
	{"an episode is terminated or truncated, never both", "use terminated for an end state of the task, truncated for a cut such as a step limit", endsApart},
	{"an episode ends within the environment's step limit", "truncate the episode at max_steps of the spec", episodesEnd},
	{"messages, infos and metrics are valid", "make an info JSON and a metric a finite number; set a task only in a reset", eventsSane},
	{"the same seed gives the same episode", "derive all randomness from the seed of the reset; do not use a clock, a global generator, or the order of a map or a set", sameSeedSameEpisode},
	{"a slot does not depend on other slots", "share no state that changes between slots: no globals, no common generator", slotsIndependent},
	{"a skipped slot does not change", "do nothing for a slot that the batch skips", skippedSlotWaits},
	{"only requested columns are filled", "fill text and features only if the batch wants them", wantIsHeeded},
	{"no text breaks the environment", "set InvalidAction and a message for an answer that makes no sense, and return no error: models say anything", anyText},
	{"a wrong batch is an error and a reset recovers", "use the SDK, which checks batches", wrongBatch},
	{"a canceled context is an error and a reset recovers", "return the context's error", canceled},
	{"a snapshot can be restored", "save all state that determines the rest of the episode: the position, the steps so far and the state of the generator", snapshots},
	{"the environment encodes its own texts as the observations that they show", "set the anchor, the features and the mask in encode as in a step; refuse a text that is none of the environment's", encodes},
	{"close may be called twice", "free the resources in the first close and do nothing in the second", closeTwice},
}

// Run checks every promise, in order, and returns a result for each. If several
// checks crash in the same way, the first reports it and the others are
// skipped. If ctx ends, Run stops early and returns its error.
func Run(ctx context.Context, open Open, o Options) ([]checks.Result, error) {
	var results []checks.Result
	told := map[string]bool{} // the crashes reported so far
	for _, t := range trials {
		if err := ctx.Err(); err != nil {
			return results, err
		}
		r := checks.Check(t.promise, fault.Plugin, t.hint, func(c *checks.Checker) {
			d := &driver{Checker: c, ctx: ctx, open: open, texts: o.Texts}
			defer d.closeAll()
			d.start()
			t.check(d)
		})
		if f := fault.As(r.Err); f != nil && f.Kind == fault.Crashed {
			how := fmt.Sprint(f.What, f.Err)
			if told[how] {
				r.Err, r.Skipped = nil, "it fails in the same way as above"
			}
			told[how] = true
		}
		results = append(results, r)
	}
	return results, nil
}

func slotAt(slot, step int) string { return fmt.Sprintf("slot %d, step %d", slot, step) }
