// Package envtest is the contract of env.Env as a test suite. Every
// implementation runs it: an environment within a process, and the same one
// behind a plug-in.
package envtest

import (
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/env"
)

// Run checks the environment that open returns, with any number of slots. It
// is opened anew for each promise. An environment with free text as its action
// is stepped with texts, in turn.
func Run(t *testing.T, open func(testing.TB) env.Env, texts ...string) {
	for _, promise := range []struct {
		name  string
		check func(*testing.T, *driver)
	}{
		{"the spec is sane and stays", specStays},
		{"columns have their lengths and finite values", columnsFit},
		{"the same seed is the same episode", sameSeedSameEpisode},
		{"a slot does not depend on its neighbours", slotsIndependent},
		{"a skipped slot waits", skippedSlotWaits},
		{"only what is wanted is given", wantIsHeeded},
		{"an episode ends within the environment's limit", episodesEnd},
		{"a wrong batch is an error and reset recovers", wrongBatch},
		{"a cancelled context is an error and reset recovers", cancelled},
		{"close may be called twice", closeTwice},
	} {
		t.Run(promise.name, func(t *testing.T) {
			e := open(t)
			defer e.Close()
			promise.check(t, &driver{t: t, open: open, env: e, texts: texts, batch: env.NewBatch(e.Spec())})
		})
	}
}

const both = env.WantText | env.WantFeatures

func specStays(t *testing.T, d *driver) {
	before := d.env.Spec()
	require.NotEmpty(t, before.Name)
	require.NotEmpty(t, before.Version)
	require.Positive(t, before.Slots)
	require.GreaterOrEqual(t, before.MaxSteps, 0)
	require.Len(t, distinct(before.Actions), len(before.Actions), "action names are distinct")
	d.resetAll(1)
	d.exchange()
	require.Equal(t, before, d.env.Spec())
}

func columnsFit(t *testing.T, d *driver) {
	spec := d.env.Spec()
	d.batch.Want = both
	d.resetAll(2)
	for range 50 {
		r := d.exchange()
		require.Len(t, r.Anchor, spec.Slots)
		require.Len(t, r.Text, spec.Slots)
		require.Len(t, r.Features, spec.Slots*spec.Features())
		require.Len(t, r.Mask, spec.Slots*len(spec.Actions))
		require.Len(t, r.Reward, spec.Slots)
		require.Len(t, r.Flags, spec.Slots)
		for _, v := range r.Features {
			require.False(t, math.IsNaN(float64(v)) || math.IsInf(float64(v), 0), "features are finite")
		}
		for i := range spec.Slots {
			require.False(t, math.IsNaN(r.Reward[i]) || math.IsInf(r.Reward[i], 0), "rewards are finite")
			require.Zero(t, r.Flags[i]&env.Failed, "slot %d failed: %v", i, r.Events)
			require.NotEmpty(t, r.Anchor[i], "slot %d has an anchor", i)
			if d.batch.Ops[i] == env.Reset {
				require.Zero(t, r.Reward[i], "no reward for a reset")
			}
			if over(r.Flags[i]) || len(spec.Actions) == 0 {
				continue
			}
			require.Contains(t, row(r.Mask, i, len(spec.Actions)), byte(1), "slot %d goes on, so it has an action", i)
		}
		for _, m := range r.Mask {
			require.LessOrEqual(t, m, byte(1), "a mask is 0 or 1")
		}
		d.advance()
	}
}

func sameSeedSameEpisode(t *testing.T, d *driver) {
	d.batch.Want = both
	first := d.episode(7, 60)
	require.Equal(t, first, d.episode(7, 60), "in the same environment, later")
	other := d.another()
	other.batch.Want = both
	require.Equal(t, first, other.episode(7, 60), "in another one")
	require.NotEqual(t, first, other.episode(8, 60), "of another seed")
}

func slotsIndependent(t *testing.T, d *driver) {
	last := d.env.Spec().Slots - 1
	d.batch.Want = both
	alone := d.episodeIn(last, 11, 40, false)
	require.Equal(t, alone, d.episodeIn(last, 11, 40, true), "beside busy neighbours")
	require.Equal(t, alone, d.episodeIn(0, 11, 40, true), "in the first slot")
}

func skippedSlotWaits(t *testing.T, d *driver) {
	slot := d.env.Spec().Slots - 1
	d.only(slot)
	play := func(pause bool) []frame {
		d.batch.Ops[slot], d.batch.Seeds[slot] = env.Reset, 5
		frames := []frame{d.frame(slot)}
		for range 10 {
			if d.ended {
				break
			}
			d.act(slot, len(frames)) // first: the mask of a skipped slot means nothing
			if pause {
				d.batch.Ops[slot] = env.Skip
				d.exchange()
			}
			d.batch.Ops[slot] = env.Step
			frames = append(frames, d.frame(slot))
		}
		return frames
	}
	require.Equal(t, play(false), play(true))
}

func wantIsHeeded(t *testing.T, d *driver) {
	for _, want := range []env.Want{0, env.WantText, env.WantFeatures, both} {
		d.batch.Want = want
		d.resetAll(3)
		r := d.exchange()
		require.Equal(t, want&env.WantText != 0, len(r.Text) > 0, "text")
		has := want&env.WantFeatures != 0 && d.env.Spec().Features() > 0
		require.Equal(t, has, len(r.Features) > 0, "features")
	}
}

func episodesEnd(t *testing.T, d *driver) {
	limit := d.env.Spec().MaxSteps
	if limit == 0 {
		limit = 200 // some episodes may go on; those that end may be reset
	}
	d.only(0)
	for seed := range uint64(20) {
		d.batch.Ops[0], d.batch.Seeds[0] = env.Reset, seed
		d.frame(0)
		steps := 0
		for ; !d.ended && steps < limit; steps++ {
			d.batch.Ops[0] = env.Step
			d.act(0, steps)
			d.frame(0)
		}
		if d.env.Spec().MaxSteps > 0 {
			require.True(t, d.ended, "seed %d goes on after %d steps", seed, steps)
		}
	}
}

func wrongBatch(t *testing.T, d *driver) {
	good := d.episode(4, 5)
	short := &env.Batch{Ops: make([]env.Op, d.env.Spec().Slots+1)}
	require.Error(t, d.env.Exchange(t.Context(), short, &d.reply), "one slot too many")
	unknown := env.NewBatch(d.env.Spec())
	unknown.Ops[0] = env.Reset + 1
	require.Error(t, d.env.Exchange(t.Context(), unknown, &d.reply), "an unknown operation")
	if len(d.env.Spec().Actions) > 0 {
		absent := env.NewBatch(d.env.Spec())
		absent.Ops[0], absent.Actions[0] = env.Step, int32(len(d.env.Spec().Actions))
		require.Error(t, d.env.Exchange(t.Context(), absent, &d.reply), "an action that is not there")
	}
	require.Equal(t, good, d.episode(4, 5))
}

func cancelled(t *testing.T, d *driver) {
	good := d.episode(4, 5)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	d.resetAll(4)
	require.ErrorIs(t, d.env.Exchange(ctx, d.batch, &d.reply), context.Canceled)
	require.Equal(t, good, d.episode(4, 5))
}

func closeTwice(t *testing.T, d *driver) {
	d.resetAll(1)
	d.exchange()
	require.NoError(t, d.env.Close())
	require.NoError(t, d.env.Close())
	require.Error(t, d.env.Exchange(t.Context(), d.batch, &d.reply), "a closed environment does not answer")
}
