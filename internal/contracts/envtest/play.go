package envtest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/env"
	"github.com/merit-rl/merit/internal/base/strictjson"
)

// Episode is an episode that Play played.
type Episode struct {
	Return     float64 // sum of the environment's rewards
	Steps      int
	Terminated bool
	Metrics    map[string]float64
}

// Play plays the episodes of the seeds 0 to n−1 with a player of discrete
// actions, which sees the anchor and the mask. It measures how a baseline, such
// as a random player, does in an environment.
func Play(t testing.TB, e env.Env, n int, choose func(anchor string, mask []byte) int) []Episode {
	t.Helper()
	return PlayEach(t, e, n, func() func(string, []byte) int { return choose })
}

// PlayEach is Play with a new player for each episode, which may count its
// steps.
func PlayEach(t testing.TB, e env.Env, n int, player func() func(anchor string, mask []byte) int) []Episode {
	t.Helper()
	spec := e.Spec()
	all := make([]Episode, n)
	batch, of, players := env.NewBatch(spec), make([]int, spec.Slots), make([]func(string, []byte) int, spec.Slots)
	next := 0
	begin := func(slot int) {
		if batch.Ops[slot] = env.Skip; next < n {
			batch.Ops[slot], batch.Seeds[slot], of[slot] = env.Reset, uint64(next), next
			players[slot], all[next].Metrics = player(), map[string]float64{}
			next++
		}
	}
	for slot := range of {
		begin(slot)
	}
	var r env.Reply
	for playing := true; playing; {
		require.NoError(t, e.Exchange(t.Context(), batch, &r))
		for _, event := range r.Events {
			require.NotEqual(t, env.EventError, event.Kind, event.Message)
			if event.Kind == env.EventMetric {
				var value float64
				require.NoError(t, strictjson.Unmarshal([]byte(event.Message), &value))
				all[of[event.Slot]].Metrics[event.Name] = value
			}
		}
		playing = false
		for slot, op := range batch.Ops {
			if op == env.Skip {
				continue
			}
			episode := &all[of[slot]]
			if op == env.Step {
				episode.Steps++
				episode.Return += r.Reward[slot]
			}
			if flags := r.Flags[slot]; over(flags) {
				episode.Terminated = flags&env.Terminated != 0
				begin(slot)
			} else {
				batch.Ops[slot] = env.Step
				batch.Actions[slot] = int32(players[slot](r.Anchor[slot], row(r.Mask, slot, len(spec.Actions))))
			}
			playing = playing || batch.Ops[slot] != env.Skip
		}
	}
	return all
}

// Random returns a player that draws uniformly from the available actions, with
// a fixed seed.
func Random() func(string, []byte) int {
	state := uint64(1)
	return func(_ string, mask []byte) int {
		for {
			state = state*6364136223846793005 + 1442695040888963407 // Knuth's MMIX; its upper bits are good
			if choice := int(state >> 33 % uint64(len(mask))); mask[choice] == 1 {
				return choice
			}
		}
	}
}

func over(f env.Flag) bool { return f&(env.Terminated|env.Truncated) != 0 }

// row returns the values of a slot in a column.
func row[T any](column []T, slot, width int) []T { return column[slot*width : (slot+1)*width] }
