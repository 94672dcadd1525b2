package agreement_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/judge"
	"github.com/merit-rl/merit/internal/judge/agreement"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat"
)

// Promise: τ-b equals a hand computation, with ties on either side, and gonum's result without
// ties.
func TestTau(t *testing.T) {
	for _, c := range []struct {
		x, y []float64
		want float64
		ok   bool
	}{
		{[]float64{1, 2, 3, 4}, []float64{10, 20, 30, 40}, 1, true},
		{[]float64{1, 2, 3, 4}, []float64{4, 3, 2, 1}, -1, true},
		{[]float64{1, 2, 2, 3}, []float64{1, 2, 3, 4}, 5 / math.Sqrt(5*6), true}, // 5 of 6 pairs ranked, all correctly
		{[]float64{1, 1, 2, 2}, []float64{1, 2, 1, 2}, 0, true},                  // one right, one wrong
		{[]float64{0, 0, 1, 1}, []float64{0, 0, 0, 1}, 2 / math.Sqrt(4*3), true}, // scipy.stats.kendalltau: 0.5773502691896258
		{[]float64{3, 1, 2}, []float64{2, 3, 1}, -1.0 / 3, true},                 // one right, two wrong
		{[]float64{1, 1, 1}, []float64{1, 2, 3}, 0, false},
		{[]float64{1, 2, 3}, []float64{1, 1, 1}, 0, false},
		{nil, nil, 0, false},
	} {
		got, ok := agreement.Tau(c.x, c.y)
		require.InDelta(t, c.want, got, 1e-15)
		require.Equal(t, c.ok, ok)
	}
	random := rand.New(rand.NewPCG(1, 2))
	for n := 2; n < 30; n++ {
		x, y := make([]float64, n), make([]float64, n)
		for i := range n {
			x[i], y[i] = random.Float64(), random.Float64()
		}
		got, ok := agreement.Tau(x, y)
		require.True(t, ok)
		require.InDelta(t, stat.Kendall(x, y, nil), got, 1e-12)
	}
}

// Promise: every figure of a report equals a hand computation.
func TestMeasure(t *testing.T) {
	r := agreement.Measure([]agreement.Judged{
		{Label: []float64{0, 1, 2}, Score: []float64{0, 0.5, 1}, Reversed: []float64{0, 0.5, 1}, Place: []int{0, 1, 2}}, // τ 1
		{Label: []float64{0, 1, 2}, Score: []float64{0, 1, 0.5}, Reversed: []float64{0, 0.5, 1}, Place: []int{2, 1, 0}}, // τ ⅓
		{Label: []float64{0, 1, 1}, Score: []float64{1, 1, 0}, Reversed: []float64{1, 1, 1}, Place: []int{0, 1, 2}},     // τ −½: one wrong pair, 2 × 2
		{Label: []float64{0, 1}, Score: []float64{0.5, 0.5}, Reversed: []float64{0.5, 0.5}, Place: []int{0, 1}},         // all scores equal: 0
		{Label: []float64{1, 1}, Score: []float64{0, 1}},                                                                // not informative
		{Label: []float64{0, 1}}, // no scores
	})
	require.Equal(t, 6, r.Groups)
	require.Equal(t, 1, r.Unscored)
	require.Equal(t, 1, r.Alike)
	require.Equal(t, 4, r.Tau.N)
	require.InDelta(t, (1+1.0/3-0.5+0)/4, r.Tau.Value, 1e-15)
	require.InDelta(t, (1+0+0.5+0.5)/4, r.Best.Value, 1e-15)
	require.InDelta(t, (1.0/3+1.0/3+2.0/3+0.5)/4, r.Chance, 1e-15)
	// Pairs: 3 kept; 2 of 3 kept; 2 ranked in one order only.
	require.Equal(t, 8, r.Kept.N)
	require.InDelta(t, 5.0/8, r.Kept.Value, 1e-15)
	// As shown and in reverse: 0 and 3 of 3; 2 and 0 of 3; 2 of 2 and none.
	require.Equal(t, 14, r.First.N)
	require.InDelta(t, (3.0+2+2)/14, r.First.Value, 1e-15)
	for _, e := range []*agreement.Estimate{r.Tau, r.Best, r.Kept, r.First} {
		require.LessOrEqual(t, e.Interval[0], e.Value)
		require.GreaterOrEqual(t, e.Interval[1], e.Value)
		require.GreaterOrEqual(t, e.Interval[0], -1.0)
		require.LessOrEqual(t, e.Interval[1], 1.0)
	}
	require.Equal(t, agreement.TooFew, r.Verdict)
	empty := agreement.Measure(nil)
	require.Nil(t, empty.Tau)
	require.Equal(t, agreement.TooFew, empty.Verdict)
}

// many returns n groups: the judge orders good of every ten pairs of groups correctly, and
// reversing keeps the order in keep of ten.
func many(n int, change func(i int, g *agreement.Judged)) (groups []agreement.Judged) {
	for i := range n {
		up := []float64{0, 0.3, 0.6, 0.9}
		g := agreement.Judged{Label: []float64{0, 1, 2, 3}, Score: up, Reversed: up, Place: []int{0, 1, 2, 3}}
		change(i, &g)
		groups = append(groups, g)
	}
	return groups
}

// Promise: the verdict uses the lower ends of the intervals, so perfect agreement on few
// groups does not earn trust.
func TestVerdict(t *testing.T) {
	down, mixed := []float64{0.9, 0.6, 0.3, 0}, []float64{0.3, 0, 0.9, 0.6}
	for _, c := range []struct {
		name   string
		groups int
		change func(i int, g *agreement.Judged)
		want   agreement.Verdict
		says   string
	}{
		{"perfect", 20, func(int, *agreement.Judged) {}, agreement.Trust, "can train on it"},
		{"perfect on few", 9, func(int, *agreement.Judged) {}, agreement.TooFew, "9 groups"},
		{"the reverse", 20, func(_ int, g *agreement.Judged) { g.Score, g.Reversed = down, down }, agreement.Useless, "worse"},
		{"a coin", 20, func(i int, g *agreement.Judged) {
			if i%2 == 0 {
				g.Score, g.Reversed = down, down
			}
		}, agreement.Useless, "Not measurably better than chance"},
		{"one score for all", 20, func(_ int, g *agreement.Judged) { g.Score = []float64{1, 1, 1, 1} }, agreement.Useless, "Not measurably better than chance"},
		{"weak", 20, func(_ int, g *agreement.Judged) { g.Score, g.Reversed = mixed, mixed }, agreement.Weak, "weak"},
		{"by position", 20, func(_ int, g *agreement.Judged) { g.Reversed = down }, agreement.Weak, "order"},
		{"often silent", 30, func(i int, g *agreement.Judged) {
			if i%5 == 0 {
				g.Score, g.Reversed = nil, nil
			}
		}, agreement.Weak, "6 of 30 groups have no scores"},
	} {
		r := agreement.Measure(many(c.groups, c.change))
		require.Equal(t, c.want, r.Verdict, c.name)
		require.Contains(t, r.Sentence, c.says, c.name)
	}
	r := agreement.Measure(many(20, func(int, *agreement.Judged) {}))
	require.Equal(t, 1.0, r.Tau.Value)
	require.Less(t, r.Tau.Interval[0], 0.95)
	one := agreement.Measure(many(20, func(_ int, g *agreement.Judged) { g.Cluster = "one task" }))
	require.Less(t, one.Best.Interval[0], r.Best.Interval[0], "groups of one task count as one")
	require.Nil(t, agreement.Measure(many(20, func(_ int, g *agreement.Judged) { g.Reversed, g.Place = nil, nil })).Kept)
}

// model is a judge.Model that scores by place and text.
type model func(place int, text string) float64

var shown = regexp.MustCompile(`(?s)<trajectory id="(\d+)">\n(.*?)\n</trajectory>`)

func (m model) Ask(_ context.Context, q judge.Question) (judge.Answer, error) {
	entries := map[string]any{}
	for i, found := range shown.FindAllStringSubmatch(q.Messages[1].Content.Text(), -1) {
		if strings.Contains(found[2], "silence") {
			return judge.Answer{Text: "no"}, nil
		}
		entries[found[1]] = map[string]float64{"score": m(i, found[2])}
	}
	text, err := json.Marshal(entries)
	return judge.Answer{Text: string(text)}, err
}

// Promise: reversing exposes a judge that scores by position, and not one that scores by the
// text; groups without scores are counted.
func TestAsk(t *testing.T) {
	var groups []agreement.Labeled
	for i := range 12 {
		g := agreement.Labeled{Group: rl.Group{Task: rl.Task{ID: fmt.Sprint("t", i)}}, Label: []float64{0, 1, 2}}
		for m, word := range []string{"bad", "fair", "good"} {
			if i == 11 {
				word = "silence"
			}
			g.Trajectories = append(g.Trajectories, &rl.Trajectory{ID: word, Messages: []rl.Message{
				{Role: rl.RoleUser, Content: rl.Text(fmt.Sprint("task ", i))}, {Role: rl.RoleAssistant, Content: rl.Text(word + fmt.Sprint(m))},
			}})
		}
		groups = append(groups, g)
	}
	report := func(m model) agreement.Report {
		cfg := judge.DefaultConfig()
		forward, err := judge.New(cfg, m, judge.Options{})
		require.NoError(t, err)
		reversed, err := judge.New(cfg, m, judge.Options{Reversed: true})
		require.NoError(t, err)
		last := 0
		judged, all, err := agreement.Ask(t.Context(), forward, reversed, groups, func(n int) { last = n })
		require.NoError(t, err)
		require.Equal(t, 72, last)
		require.Equal(t, []reward.Count{{Outcome: reward.Scored, N: 66}, {Outcome: reward.ABIViolation, N: 6}}, reward.Tally(all))
		return agreement.Measure(judged)
	}
	r := report(func(_ int, text string) float64 {
		return map[bool]float64{strings.Contains(text, "good"): 1, strings.Contains(text, "fair"): 0.5}[true]
	})
	require.Equal(t, 1, r.Unscored)
	require.Equal(t, 1.0, r.Tau.Value)
	require.Equal(t, 1.0, r.Kept.Value)
	require.Equal(t, 0.5, r.First.Value)
	require.Equal(t, agreement.Trust, r.Verdict)

	r = report(func(place int, _ string) float64 { return 1 - float64(place)/10 })
	require.Zero(t, r.Kept.Value)
	require.Equal(t, 1.0, r.First.Value)
	require.NotEqual(t, agreement.Trust, r.Verdict)
}
