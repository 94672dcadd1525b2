package sandbox_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/sandbox"
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

// Promise: scoring with several modules at once is the same as one by one, and
// each keeps its own limits.
func TestEvaluateEach(t *testing.T) {
	r, tight := newRuntime(t), newRuntime(t, func(c *sandbox.Config) { c.InputMiB = 1 })
	wasm := goGuest(t, "examples/gsm8k")
	modules := []reward.Scorer{load(t, r, wasm), load(t, r, guest{}.wasm()), load(t, r, goGuest(t, "sandbox/testdata/group")), load(t, tight, wasm)}
	large := answers(t)[0]
	large.Messages[0].Content = rl.Text(strings.Repeat("x", 1<<20))
	for _, x := range append(answers(t)[:5], large) {
		for i, e := range modules[0].(reward.SharedScorer).EvaluateEach(context.Background(), modules, x) {
			want := modules[i].Evaluate(context.Background(), x)
			e.Elapsed, want.Elapsed = 0, 0
			require.Equal(t, want, e, "%s, module %d", x.ID, i)
		}
	}
}
