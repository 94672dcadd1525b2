package rewardcmd

import (
	"fmt"
	"strings"
	"time"

	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/sandbox"
	"github.com/merit-rl/merit/sandbox/abi"
)

// limitShare is the largest use of a limit.
type limitShare struct {
	Limit string  `json:"limit"` // its key in the configuration
	Used  float64 `json:"used"`  // in units, bytes or nanoseconds
	Most  float64 `json:"most"`
	Share float64 `json:"share"`

	shown func(float64) string
}

// limitShares returns the use of each limit that can stop a single evaluation. Input is known
// only for the flat ABI, and memory only if modules run in this process.
func limitShares(m *sandbox.Module, limits sandbox.Limits, all []measurement) []limitShare {
	var fuel, input, output, log, steps, wall float64
	encoder := abi.NewEncoder(1 << 30)
	for _, x := range all {
		fuel = max(fuel, float64(x.Fuel))
		wall = max(wall, float64(x.P99NS))
		log = max(log, float64(len(x.evaluation.Log)))
		output = max(output, float64(outputBytes(x.evaluation)))
		steps = max(steps, float64(len(x.evaluation.Result.StepOutputs)), float64(len(x.evaluation.Result.Metrics)))
		if encoded, err := encoder.Trajectory(x.trajectory); err == nil {
			input = max(input, float64(len(encoded)))
		}
	}
	size := func(x float64) string { return ByteCount(int(x)) }
	count := func(x float64) string { return fmt.Sprintf("%.0f", x) }
	clock := func(x float64) string { return time.Duration(x).Round(time.Microsecond).String() }
	shares := []limitShare{{Limit: "fuel", Used: fuel, Most: float64(limits.Fuel), shown: count}}
	if peak := m.PeakMemory(); peak > 0 {
		shares = append(shares, limitShare{Limit: "memory_mib", Used: float64(peak), Most: float64(limits.MemoryMiB << 20), shown: size})
	}
	if strings.HasPrefix(m.Info().ABI, "flat") {
		shares = append(shares, limitShare{Limit: "input_mib", Used: input, Most: float64(limits.InputMiB << 20), shown: size})
	}
	shares = append(shares,
		limitShare{Limit: "output_kib", Used: output, Most: float64(limits.OutputKiB << 10), shown: size},
		limitShare{Limit: "log_kib", Used: log, Most: float64(limits.LogKiB << 10), shown: size},
		limitShare{Limit: "steps", Used: steps, Most: float64(limits.Steps), shown: count},
		limitShare{Limit: "wall_clock", Used: wall, Most: float64(limits.WallClock), shown: clock},
	)
	for i := range shares {
		shares[i].Share = shares[i].Used / shares[i].Most
	}
	return shares
}

// outputBytes is the length of the names and texts of a result.
func outputBytes(e reward.Evaluation) int {
	n := len(e.Result.Reason)
	for _, m := range e.Result.Metrics {
		n += len(m.Name) + len(m.Reason)
	}
	for _, s := range e.Result.StepOutputs {
		n += len(s.Reason)
		for _, m := range s.Metrics {
			n += len(m.Name) + len(m.Reason)
		}
	}
	return n
}
