package rollout

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"testing"

	"github.com/merit-rl/merit/core/env"
	"github.com/merit-rl/merit/core/policy"
	"github.com/merit-rl/merit/core/rl"
)

// still is an environment that costs next to nothing: episodes of a fixed
// length, 147 features, texts made in advance.
type still struct {
	spec  env.Spec
	steps []int
	texts []string
}

func openStill(slots, length int) Open {
	return func(context.Context, int) (env.Env, error) {
		s := &still{
			spec:  env.Spec{Name: "still", Slots: slots, Actions: []string{"up", "down", "left", "right"}, FeatureShape: []int{3, 7, 7}, MaxSteps: length},
			steps: make([]int, slots),
		}
		for i := range 16 {
			s.texts = append(s.texts, fmt.Sprintf("######\n#  . #\n# $  #\n#  @ #\n#    #\n###### %d", i))
		}
		return s, nil
	}
}

func (s *still) Spec() env.Spec { return s.spec }
func (s *still) Close() error   { return nil }

func (s *still) Exchange(_ context.Context, b *env.Batch, r *env.Reply) error {
	if n := s.spec.Slots; len(r.Flags) != n {
		*r = env.Reply{
			Anchor: make([]string, n), Text: make([]string, n), Features: make([]float32, n*s.spec.Features()),
			Mask: make([]byte, n*4), Reward: make([]float64, n), Flags: make([]env.Flag, n),
		}
		for i := range r.Mask {
			r.Mask[i] = 1
		}
	}
	for i, op := range b.Ops {
		switch op {
		case env.Reset:
			s.steps[i] = 0
		case env.Step:
			s.steps[i]++
		}
		r.Text[i] = s.texts[s.steps[i]%len(s.texts)]
		r.Anchor[i], r.Flags[i] = r.Text[i], 0
		if s.steps[i] >= s.spec.MaxSteps {
			r.Flags[i] = env.Truncated
		}
	}
	return nil
}

// coin is a policy that costs next to nothing.
type coin struct{}

func (coin) Version() uint64 { return 0 }

func (coin) Act(_ context.Context, obs []policy.Observation, decisions []policy.Decision) error {
	for i, o := range obs {
		decisions[i].Action = rl.Action{Kind: rl.ActionChoice, Choice: int(o.Seed.Uniform() * 4)}
	}
	return nil
}

// BenchmarkCollect measures the collector alone: steps/s with an environment
// and a policy that cost next to nothing.
func BenchmarkCollect(b *testing.B) {
	for _, parallel := range []int{1, 2} {
		for _, slots := range []int{1, 64} {
			b.Run(fmt.Sprintf("parallel=%d/slots=%d", parallel, slots), func(b *testing.B) {
				bench(b, parallel, slots, 32, 8, 25)
			})
		}
	}
}

// BenchmarkEpisodeLength shows that a step costs the same in a long episode as
// in a short one: history is shared, not copied.
func BenchmarkEpisodeLength(b *testing.B) {
	for _, length := range []int{10, 100, 1000, 10000} {
		b.Run(fmt.Sprint(length), func(b *testing.B) { bench(b, 1, 8, 1, 8, length) })
	}
}

func bench(b *testing.B, parallel, slots, groups, members, length int) {
	cfg := DefaultConfig()
	cfg.Parallel, cfg.Groups, cfg.Members = parallel, groups, members
	off := slog.New(slog.NewTextHandler(io.Discard, nil)) // info: debug is off
	c, err := New(cfg, openStill(slots, length), coin{}, WithLogger(off))
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	b.ReportAllocs()
	steps := 0
	for b.Loop() {
		_, stats, err := c.Collect(b.Context(), Plan{Seed: 1}, nil)
		if err != nil {
			b.Fatal(err)
		}
		steps += stats.Steps
	}
	b.ReportMetric(float64(steps)/b.Elapsed().Seconds(), "steps/s")
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(steps), "ns/step")
}
