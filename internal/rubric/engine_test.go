package rubric_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"sync"
	"testing"

	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/internal/rubric"
	"github.com/stretchr/testify/require"
)

// words is a checker for tests: the code of a rule is a word, and the score is the share of
// the output's words that equal it. Some codes fail.
type words struct {
	mu    sync.Mutex
	calls int
	// check, if it is not nil, is called first.
	check func(ctx context.Context, r rubric.Rule, w *rubric.Workflow, i int) *rubric.Verdict
}

func (*words) Digest() string { return "words" }

func (c *words) Check(ctx context.Context, r rubric.Rule, w *rubric.Workflow, i int) rubric.Verdict {
	c.mu.Lock()
	c.calls++
	c.mu.Unlock()
	if c.check != nil {
		if v := c.check(ctx, r, w, i); v != nil {
			return *v
		}
	}
	outcomes := map[string]reward.Outcome{"loops": reward.OutOfFuel, "raises": reward.GuestError, "is away": reward.Infrastructure, "is slow": reward.Timeout}
	if outcome, fails := outcomes[r.Code]; fails {
		return rubric.Verdict{Outcome: outcome, Reason: "it " + r.Code, Fuel: 7}
	}
	score := 1.0
	if r.Code != "always" {
		all := strings.Fields(w.Outputs[i].Text())
		score = 0
		for _, word := range all {
			if word == r.Code {
				score += 1 / float64(len(all))
			}
		}
	}
	return rubric.Verdict{Outcome: reward.Scored, Score: &score, Fuel: 5}
}

func (c *words) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.calls
}

// rules is a rubric with a criterion of equal weight for each code.
func rules(codes ...string) *rubric.Rubric {
	r := &rubric.Rubric{Name: "test"}
	for _, code := range codes {
		r.Criteria = append(r.Criteria, rubric.Criterion{
			Name: code, Weight: 1 / float64(len(codes)), Rule: rubric.Rule{Language: rubric.Python, Code: code},
		})
	}
	return r
}

func outputs(texts ...string) *rubric.Workflow {
	w := &rubric.Workflow{Task: "Write."}
	for i, text := range texts {
		w.Outputs = append(w.Outputs, rubric.Output{Worker: string(rune('a' + i)), Resources: []rubric.Resource{{Name: "a.md", Kind: rubric.Document, Text: text}}})
	}
	return w
}

func evaluate(t *testing.T, e *rubric.Engine, r *rubric.Rubric, w *rubric.Workflow) *rubric.Evaluation {
	t.Helper()
	out, err := e.Evaluate(t.Context(), r, w)
	require.NoError(t, err)
	return out
}

// Promise: the total of an output is the sum of weight × score; an output without a score for
// a criterion has no total, and the criterion says why.
func TestTotals(t *testing.T) {
	e := rubric.NewEngine(&words{}, rubric.EngineOptions{})
	got := evaluate(t, e, rules("x", "y"), outputs("x y y y", "x x"))
	require.InDelta(t, 0.5*0.25+0.5*0.75, *got.Totals[0], 1e-12)
	require.InDelta(t, 0.5, *got.Totals[1], 1e-12)
	require.Empty(t, got.Failures())
	require.Equal(t, uint64(4*5), got.Fuel())

	got = evaluate(t, e, rules("x", "loops"), outputs("x", "y"))
	require.Equal(t, []*float64{nil, nil}, got.Totals)
	require.Len(t, got.Failures(), 2)
	require.Equal(t, `criterion "loops" on output 2: out_of_fuel: it loops`, got.Failures()[1].String())
}

// Promise: a criterion with the same score for all outputs is distinguished from one that also
// gives this score to an empty output.
func TestConstantAndVacuous(t *testing.T) {
	e := rubric.NewEngine(&words{}, rubric.EngineOptions{})
	for _, c := range []struct {
		code              string
		texts             []string
		constant, vacuous bool
	}{
		{"always", []string{"x", "y"}, true, true},
		{"x", []string{"x", "x x"}, true, false}, // it holds for all outputs, and not for the empty one
		{"z", []string{"x", "y"}, true, false},   // it never holds
		{"x", []string{"x", "y"}, false, false},
		{"x", []string{"x"}, true, false}, // one output shows nothing
		{"loops", []string{"x", "y"}, false, false},
	} {
		got := evaluate(t, e, rules(c.code), outputs(c.texts...)).Criteria[0]
		require.Equal(t, c.constant, got.Constant, c)
		require.Equal(t, c.vacuous, got.Vacuous, c)
		require.Equal(t, c.constant && len(c.texts) > 1, got.Empty != nil, c)
	}
}

// Promise: a verdict is computed once for each rule, task and output, whatever the worker and
// the rubric, and it reports the same fuel every time.
func TestVerdictsAreKept(t *testing.T) {
	c := &words{}
	e := rubric.NewEngine(c, rubric.EngineOptions{})
	first := evaluate(t, e, rules("x", "y"), outputs("x", "y", "x"))
	require.Equal(t, 4, c.count())
	other := outputs("y", "x", "x")
	got := evaluate(t, e, rules("y"), other)
	require.Equal(t, 4, c.count())
	require.Equal(t, first.Criteria[1].Verdicts[1], got.Criteria[0].Verdicts[0])
	require.Equal(t, rubric.Stats{Verdicts: 9, Kept: 5}, e.Stats())
	other.Task = "Write more."
	evaluate(t, e, rules("y"), other)
	other.Inputs = []rubric.Resource{{Name: "b", Text: "c"}}
	evaluate(t, e, rules("y"), other)
	require.Equal(t, 8, c.count(), "another task and other inputs are other questions")
}

// Promise: the cache never exceeds its size, and evicts the least recently used verdict.
func TestBound(t *testing.T) {
	c := &words{}
	e := rubric.NewEngine(c, rubric.EngineOptions{Kept: 2})
	for _, step := range []struct {
		code  string
		calls int
	}{{"a", 1}, {"b", 2}, {"a", 2}, {"c", 3}, {"a", 3}, {"b", 4}} {
		evaluate(t, e, rules(step.code), outputs("x"))
		require.Equal(t, step.calls, c.count(), step.code)
	}
	none := rubric.NewEngine(c, rubric.EngineOptions{Kept: -1})
	evaluate(t, none, rules("a"), outputs("x"))
	evaluate(t, none, rules("a"), outputs("x"))
	require.Equal(t, 6, c.count())
}

// Promise: an unavailable verdict is never cached, and after one for an output, the next
// output is not tried.
func TestAwayIsNotKept(t *testing.T) {
	for _, code := range []string{"is away", "is slow"} {
		c := &words{}
		e := rubric.NewEngine(c, rubric.EngineOptions{})
		got := evaluate(t, e, rules(code, "x"), outputs("x", "y"))
		require.Equal(t, 1+2, c.count())
		require.True(t, got.Criteria[0].Verdicts[0].Unavailable())
		require.Contains(t, got.Criteria[0].Verdicts[1].Reason, "not tried")
		evaluate(t, e, rules(code, "x"), outputs("x", "y"))
		require.Equal(t, 2+2, c.count())
	}
}

// Promise: an evaluation is the same at any parallelism, and concurrent requests for a verdict
// compute it once.
func TestParallel(t *testing.T) {
	r, w := rules("x", "y", "always", "raises", "z"), outputs("x y", "y", "z z", "x", "x y")
	want := evaluate(t, rubric.NewEngine(&words{}, rubric.EngineOptions{}), r, w)
	c := &words{}
	e := rubric.NewEngine(c, rubric.EngineOptions{Parallel: 4})
	var wg sync.WaitGroup
	got := make([]*rubric.Evaluation, 8)
	for i := range got {
		wg.Go(func() { got[i], _ = e.Evaluate(context.Background(), r, w) })
	}
	wg.Wait()
	for i := range got {
		require.Equal(t, want, got[i])
	}
	require.Equal(t, 5*4+1, c.count(), "four different outputs, and nothing for the criterion that is constant")
}

// Promise: a canceled caller gets no evaluation, caches no verdict, and does not cancel others
// that wait for the same one.
func TestStopped(t *testing.T) {
	why := errors.New("enough")
	first, cancel := context.WithCancelCause(t.Context())
	asked := make(chan struct{})
	c := &words{}
	c.check = func(ctx context.Context, _ rubric.Rule, _ *rubric.Workflow, _ int) *rubric.Verdict {
		if c.count() > 1 {
			return nil
		}
		close(asked)
		<-ctx.Done()
		zero := 0.0
		return &rubric.Verdict{Outcome: reward.Scored, Score: &zero} // even if it reports one
	}
	e := rubric.NewEngine(c, rubric.EngineOptions{})
	stopped := make(chan error)
	go func() {
		got, err := e.Evaluate(first, rules("x"), outputs("x"))
		require.Nil(t, got)
		stopped <- err
	}()
	<-asked
	other := make(chan *rubric.Evaluation)
	go func() {
		got, _ := e.Evaluate(context.Background(), rules("x"), outputs("x"))
		other <- got
	}()
	cancel(why)
	require.ErrorIs(t, <-stopped, why)
	require.InDelta(t, 1, *(<-other).Totals[0], 0)
	require.Equal(t, 2, c.count())
}

// Promise: a checker that violates its contract with NaN, or with a score without the outcome
// scored, gives no score.
func TestCheckersAreHeldToTheirWord(t *testing.T) {
	nan, two, half := math.NaN(), 2.0, 0.5
	for _, v := range []rubric.Verdict{
		{Outcome: reward.Scored, Score: &nan}, {Outcome: reward.Scored, Score: &two}, {Outcome: reward.Scored}, {Outcome: reward.Trap, Score: &half},
	} {
		c := &words{check: func(context.Context, rubric.Rule, *rubric.Workflow, int) *rubric.Verdict { return &v }}
		got := evaluate(t, rubric.NewEngine(c, rubric.EngineOptions{}), rules("x"), outputs("x")).Criteria[0].Verdicts[0]
		require.Nil(t, got.Score)
		require.NotEqual(t, reward.Scored, got.Outcome)
	}
}
