package sandbox_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"os"
	"testing"

	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/core/testneeds"
	"github.com/stretchr/testify/require"
)

// answers reads the 1,320 real answers.
func answers(t testing.TB) []*rl.Trajectory {
	data, err := os.ReadFile(testneeds.Shared(t, "data", "gsm8k_model_solutions.jsonl"))
	require.NoError(t, err)
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, 1<<20)
	var list []*rl.Trajectory
	for lines.Scan() {
		x := new(rl.Trajectory)
		require.NoError(t, json.Unmarshal(lines.Bytes(), x))
		list = append(list, x)
	}
	require.Len(t, list, 1320)
	return list
}

// Promise: the example reward, sandboxed, agrees with the data set's grader on
// every real answer.
func TestGSM8KAgreesWithTheGrader(t *testing.T) {
	m := load(t, newRuntime(t), goGuest(t, "examples/gsm8k"))
	for _, x := range answers(t) {
		e := m.Evaluate(context.Background(), x)
		require.Equal(t, reward.Scored, e.Outcome, "%s: %s %s", x.ID, e.Reason, e.Log)
		require.Equal(t, string(x.Metadata["is_correct"]) == "true", e.Result.Score == 1, x.ID)
	}
}
