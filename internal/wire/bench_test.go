package wire_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/env"
	"github.com/merit-rl/merit/internal/wire"
	pb "github.com/merit-rl/merit/internal/wire/proto"
)

// BenchmarkFeatures encodes and decodes 64 slots of Sokoban's planes, as bits
// and, one value in the way, as floats.
func BenchmarkFeatures(b *testing.B) {
	spec := env.Spec{Slots: 64, Actions: []string{"a"}, FeatureShape: []int{3, 7, 7}}
	for name, spoiler := range map[string]float32{"bits": 1, "f32": 0.5} {
		r := env.Reply{
			Anchor: make([]string, 64), Features: make([]float32, 64*147), Mask: make([]byte, 64),
			Reward: make([]float64, 64), Flags: make([]env.Flag, 64),
		}
		for i := range r.Features {
			r.Features[i] = float32(rand.IntN(8) / 7)
		}
		r.Features[0] = spoiler
		for i := range r.Mask {
			r.Mask[i] = 1
		}
		asked := &env.Batch{Ops: make([]env.Op, 64), Want: env.WantFeatures}
		var m pb.BatchReply
		var out env.Reply
		b.Run(name+"/encode", func(b *testing.B) {
			for b.Loop() {
				require.NoError(b, wire.EncodeReply(&m, 1, &r, env.WantFeatures, spec))
			}
			b.ReportMetric(float64(len(m.Features))/64, "B/slot")
		})
		b.Run(name+"/decode", func(b *testing.B) {
			for b.Loop() {
				require.NoError(b, wire.DecodeReply(&m, 1, asked, &out, spec))
			}
		})
	}
}
