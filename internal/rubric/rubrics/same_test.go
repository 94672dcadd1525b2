package rubrics_test

import (
	"context"
	"os"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/internal/rubric"
	"github.com/merit-rl/merit/internal/rubric/rubrics"
	"github.com/merit-rl/merit/sandbox"
)

// TestMain lets this program be the worker for isolation: process.
func TestMain(m *testing.M) {
	if sandbox.IsWorker(os.Args) {
		os.Exit(sandbox.WorkerMain())
	}
	os.Exit(m.Run())
}

// keeps tries to detect in one output that it has seen another.
const keeps = `
import builtins, json, re, sys

def rule(output, task):
    for place in (builtins, json, re, sys):
        if getattr(place, "seen", 0):
            return 1
        place.seen = 1
    rule.seen = getattr(rule, "seen", 0) + 1
    return len(output["text"]) / 100 if rule.seen == 1 else 1
`

// Promise: verdicts and their fuel are the same at any parallelism and with every isolation,
// and outputs cannot affect each other: a rule leaves no state for the next output.
func TestSameVerdicts(t *testing.T) {
	w := workflow("a", "bb", "ccc", "dddd", "eeeee", "ffffff")
	r := &rubric.Rubric{Criteria: []rubric.Criterion{
		{Name: "keeps", Weight: 0.5, Rule: rubric.Rule{Language: rubric.Python, Code: keeps}},
		{Name: "loops", Weight: 0.25, Rule: rubric.Rule{Language: rubric.Python, Code: "def rule(o, t):\n  while len(o['text']) > 3: pass\n  return 0.5"}},
		{Name: "script", Weight: 0.25, Rule: rubric.Rule{Language: rubric.JavaScript, Code: "const rule = (o) => { globalThis.n = (globalThis.n ?? 0) + 1; return n * o.text.length / 10; };"}},
	}}
	var want *rubric.Evaluation
	for _, c := range []struct {
		isolation sandbox.Isolation
		parallel  int
	}{{sandbox.Snapshot, 1}, {sandbox.Snapshot, 3}, {sandbox.Shared, 1}, {sandbox.Process, 2}} {
		k := open(t, func(_ *rubrics.Config, s *sandbox.Config) { s.Isolation, s.Workers = c.isolation, c.parallel })
		e := rubrics.NewEngine(k, c.parallel)
		var wg sync.WaitGroup
		for range c.parallel {
			wg.Go(func() { _, _ = e.Evaluate(context.Background(), r, w) })
		}
		wg.Wait()
		got, err := e.Evaluate(t.Context(), r, w)
		require.NoError(t, err)
		if want == nil {
			want = got
			for i, v := range got.Criteria[0].Verdicts {
				require.Equal(t, reward.Scored, v.Outcome, v.Reason)
				require.InDelta(t, float64(i+1)/100, *v.Score, 0)
			}
			require.Equal(t, reward.OutOfFuel, got.Criteria[1].Verdicts[3].Outcome)
			require.InDelta(t, 0.6, *got.Criteria[2].Verdicts[5].Score, 1e-12)
		}
		require.Equal(t, want, got, c)
	}
}

// Promise: a canceled context gives no verdict, and caches none.
func TestACancelledContextIsNoVerdict(t *testing.T) {
	k := open(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r := &rubric.Rubric{Criteria: []rubric.Criterion{{Name: "a", Weight: 1, Rule: rubric.Rule{Language: rubric.Python, Code: "def rule(o, t): return 1"}}}}
	e := rubrics.NewEngine(k, 0)
	_, err := e.Evaluate(ctx, r, workflow("a"))
	require.ErrorIs(t, err, context.Canceled)
	got, err := e.Evaluate(t.Context(), r, workflow("a", "b"))
	require.NoError(t, err)
	require.Empty(t, got.Failures())
}

// Promise: the digest covers every setting that affects verdicts, and no other.
func TestDigestOfCheckers(t *testing.T) {
	digest := func(change func(*rubrics.Config)) string {
		c := rubrics.DefaultConfig()
		if change != nil {
			change(&c)
		}
		k, err := rubrics.Open(t.Context(), c, rubrics.Options{Sandbox: sandbox.DefaultConfig()})
		require.NoError(t, err)
		defer k.Close()
		return k.Digest()
	}
	base := digest(nil)
	require.Equal(t, base, digest(func(c *rubrics.Config) { c.Kept = 3 }))
	seen := map[string]bool{base: true}
	for _, change := range []func(*rubrics.Config){
		func(c *rubrics.Config) { c.Fuel++ },
		func(c *rubrics.Config) { c.MemoryMiB++ },
		func(c *rubrics.Config) { c.Languages = c.Languages[:1] },
		func(c *rubrics.Config) {
			judge("http://127.0.0.1:1/v1")(c, nil)
			c.Languages = rubrics.DefaultConfig().Languages
		},
	} {
		d := digest(change)
		require.False(t, seen[d])
		seen[d] = true
	}
}
