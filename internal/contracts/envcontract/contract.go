// Package envcontract is the contract of env.Env as functions: each promise is
// tried on a real environment, and each result says what is wrong and where. The
// same promises hold for an environment within a process and behind a plug-in;
// envtest runs them in tests.
package envcontract

import (
	"context"
	"fmt"

	"github.com/merit-rl/merit/core/env"
	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/base/checks"
)

// Open returns the environment that is checked, with any number of slots. It is
// called anew for each promise; the check closes what it returns.
type Open func(ctx context.Context) (env.Env, error)

// Options say how the environment is played.
type Options struct {
	// Texts are what is said, in turn, to an environment whose actions are free
	// text. None are: what language models say by and large, and calls of the
	// tools that the environment offers.
	Texts []string
}

// trial is a promise, what an author does about it when it is broken, and how it
// is tried.
type trial struct {
	promise, hint string
	check         func(*driver)
}

var trials = []trial{
	{"the spec is sane and stays", "Spec describes the environment as configured, once and for all", specStays},
	{"columns have their lengths", "fill one row for each slot, of the width that the spec says", columnsFit},
	{"no slot fails while it is played", "an answer that makes no sense is an invalid action, not an error", slotsLive},
	{"features and rewards are finite, and a reset has no reward", "look for a division by zero or a logarithm of 0; give no reward in a reset", numbersFinite},
	{"texts are UTF-8 and each state has an anchor", "turn.Anchor is the raw observation, in UTF-8: what GiGPO tells states apart by", textsSane},
	{"a mask is 0 or 1 and leaves an action while the episode goes on", "terminate the episode where nothing can be done, or leave an action available", masksSane},
	{"an end is terminated or truncated, never both", "terminated is an end state of the task, truncated a cut such as a limit of steps", endsApart},
	{"an episode ends within the environment's limit", "truncate the episode at max_steps of the spec", episodesEnd},
	{"messages, infos and metrics can be read", "an info is JSON, a metric a finite number, a task comes right after a reset", eventsSane},
	{"the same seed is the same episode", "draw all that is random from the seed of the reset; no clock, no global generator, no order of a map or a set", sameSeedSameEpisode},
	{"a slot does not depend on its neighbours", "slots share nothing that changes: no globals, no generator for all", slotsIndependent},
	{"a skipped slot waits", "leave a slot alone that the batch skips", skippedSlotWaits},
	{"only what is wanted is given", "text and features are for batches that want them", wantIsHeeded},
	{"no text breaks the environment", "an answer that makes no sense is an InvalidAction with a message, not an error: models say anything", anyText},
	{"a wrong batch is an error and reset recovers", "use the SDK, which checks batches", wrongBatch},
	{"a cancelled context is an error and reset recovers", "return the context's error", cancelled},
	{"a snapshot is gone back to", "the state holds all that decides what comes: the position, the steps so far and the generator's state", snapshots},
	{"close may be called twice", "close frees what the environment holds, once", closeTwice},
}

// Run tries every promise, in order, and returns a result for each. What crashes in
// the same way in many is the result of the first; the others are skipped. It ends
// early with the error of a context that is over.
func Run(ctx context.Context, open Open, o Options) ([]checks.Result, error) {
	var results []checks.Result
	told := map[string]bool{} // how it crashed so far
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
				r.Err, r.Skipped = nil, "it fails as it did above"
			}
			told[how] = true
		}
		results = append(results, r)
	}
	return results, nil
}

func slotAt(slot, step int) string { return fmt.Sprintf("slot %d, step %d", slot, step) }
