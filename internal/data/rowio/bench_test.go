package rowio_test

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/merit-rl/merit/core/advantage"
	"github.com/merit-rl/merit/internal/data/rowio"
	"github.com/stretchr/testify/require"
)

// file returns n rows of text boards: groups of 8 trajectories of 16 steps.
func file(n int) []byte {
	const members, steps = 8, 16
	random := rand.New(rand.NewPCG(1, 1))
	var b bytes.Buffer
	for i := range n {
		k := i / steps
		fmt.Fprintf(&b, `{"group": "g%d", "trajectory": "g%dt%d", "step": %d, "observation": "%s", "reward": %v, "episode_score": %v}`+"\n",
			k/members, k/members, k%members, i%steps, board(random.IntN(32)), random.Float64(), k%3)
	}
	return b.Bytes()
}

// board returns an observation of 48 characters.
func board(state int) string {
	return strings.Repeat("#", 16) + fmt.Sprintf("%016b", state) + strings.Repeat(".", 16)
}

// Rows per second from JSON Lines through GiGPO to JSON Lines.
func BenchmarkFile(b *testing.B) {
	for _, n := range []int{1_024, 10_240, 102_400} {
		data := file(n)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			var res advantage.Result
			b.ReportAllocs()
			for b.Loop() {
				table, err := rowio.Read("rows", bytes.NewReader(data))
				require.NoError(b, err)
				require.NoError(b, advantage.Estimate(advantage.Default(), &table.Rows, &res))
				require.NoError(b, table.Write(io.Discard, &res))
			}
			b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
		})
	}
}
