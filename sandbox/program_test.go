package sandbox_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/merit-rl/merit/core/reward"
	"github.com/stretchr/testify/require"
)

// asks is a reward in Python that runs a source as a program in a language and
// says how that ended.
const asks = `
import json
from merit_reward._programs import Program

def run(source, language="python", fuel=100_000_000, **more):
    with Program(language) as p:
        return p.ask(json.dumps({"do": "run", "source": source, "input": "", **more}), fuel)

def said(answer):
    return {"score": answer.fuel, "reason": f"{answer.outcome}: {answer.text}"}
`

// Promise: a reward opens a program in either language, has it run a source and
// gets its answer.
func TestRewardsRunPrograms(t *testing.T) {
	r := oneWorker(t)
	for language, source := range map[string]string{"python": "print(6 * 7)", "javascript": "let x = 6 * 7"} {
		m, err := loadScript(t, r, "reward.py", asks+fmt.Sprintf("def reward(messages): return said(run(%q, %q))\n", source, language))
		require.NoError(t, err)
		first := m.Evaluate(context.Background(), small())
		require.Equal(t, reward.Scored, first.Outcome, first.Reason)
		require.Contains(t, first.Result.Reason, "answered: {")
		require.Greater(t, first.Fuel, uint64(first.Result.Score), "what the program took is the reward's")
		for range 3 {
			e := m.Evaluate(context.Background(), small())
			e.Elapsed = first.Elapsed
			require.Equal(t, first, e)
		}
	}
}
