package attack_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/attack"
)

// scorer is a reward of this process.
type scorer func(reply, truth string) float64

func (scorer) Info() reward.Info { return reward.Info{Name: "test", Digest: "sha256:test"} }

func (s scorer) Evaluate(_ context.Context, t *rl.Trajectory) reward.Evaluation {
	var truth string
	_ = json.Unmarshal(t.GroundTruth, &truth)
	text := t.Messages[len(t.Messages)-1].Content.Text()
	return reward.Evaluation{Outcome: reward.Scored, Result: rl.EvaluateResult{Score: s(text, truth), IsScoreValid: true}, Fuel: uint64(1000 + len(text))}
}

// rows makes a task of each truth.
func rows(truths ...string) (all []*rl.Trajectory) {
	for i, truth := range truths {
		raw, _ := json.Marshal(truth)
		all = append(all, &rl.Trajectory{
			ID: fmt.Sprintf("t%d", i), GroundTruth: raw,
			Messages: []rl.Message{{Role: rl.RoleUser, Content: rl.Text(fmt.Sprintf("Question %d: how many?", i))}, {Role: rl.RoleAssistant, Content: rl.Text("I do not know.")}},
		})
	}
	return all
}

var (
	numbers = []string{"72", "23", "-12", "1350", "490", "6"}
	words   = []string{"Paris", "Mercury", "Goethe", "whale"}
	yesNo   = []string{"yes", "no", "yes", "no"}

	inTag = regexp.MustCompile(`(?s)<answer>(.*?)</answer>`)
	digit = regexp.MustCompile(`-?\d+`)
)

// only is what the single tag of a reply holds.
func only(reply string) (string, bool) {
	m := inTag.FindAllStringSubmatch(reply, -1)
	if len(m) != 1 {
		return "", false
	}
	return strings.TrimSpace(m[0][1]), true
}

func score(right bool) float64 {
	if right {
		return 1
	}
	return 0
}

func run(t *testing.T, s scorer, all []*rl.Trajectory, parallel int, o attack.Options) *attack.Result {
	t.Helper()
	pool := reward.NewPool([]reward.Weighted{{Scorer: s, Weight: 1}}, parallel)
	r, err := attack.Run(t.Context(), attack.Subject{Pool: pool, Rows: all, Script: true, Source: []byte(`["yes", "no", "<answer>(.*?)</answer>"]`)}, o)
	require.NoError(t, err)
	return r
}

// Promise: holes in the shapes that people publish are found, each by an opinion that names it.
func TestHoles(t *testing.T) {
	for _, c := range []struct {
		name   string
		truths []string
		score  scorer
		doubt  string
	}{
		{"contains", numbers, func(r, truth string) float64 { return score(strings.Contains(r, truth)) }, "swapped truth"},
		{"contains a word", words, func(r, truth string) float64 {
			return score(strings.Contains(strings.ToLower(r), strings.ToLower(truth)))
		}, "swapped truth"},
		{"yes and no", yesNo, func(r, truth string) float64 { return score(strings.Contains(r, truth)) }, "swapped truth"},
		{"any tag", numbers, func(r, truth string) float64 {
			for _, m := range inTag.FindAllStringSubmatch(r, -1) {
				if m[1] == truth {
					return 1
				}
			}
			return 0
		}, "swapped truth"},
		{"first number of several", numbers, func(r, truth string) float64 {
			m := digit.FindAllString(r, -1)
			return score(len(m) > 0 && (m[0] == truth || m[len(m)-1] == truth))
		}, "two answers at once"},
		{"beginning", words, func(r, truth string) float64 {
			a, ok := only(r)
			return score(ok && len(a) > 1 && strings.HasPrefix(truth, a))
		}, "another answer"},
		{"end", numbers, func(r, truth string) float64 { return score(strings.HasSuffix(strings.TrimSpace(r), truth)) }, "another answer"},
		{"nan", numbers, func(r, truth string) float64 {
			a, ok := only(r)
			v, err := strconv.ParseFloat(a, 64)
			want, _ := strconv.ParseFloat(truth, 64)
			return score(ok && err == nil && !(math.Abs(v-want) > 1e-6))
		}, "swapped truth"},
		{"failed parse", numbers, func(r, truth string) float64 {
			a, ok := only(r)
			if !ok {
				return 0.5
			}
			return score(a == truth)
		}, "nothing there"},
		{"format only", numbers, func(r, _ string) float64 { return score(inTag.MatchString(r)) }, "form without content"},
		{"length", words, func(r, truth string) float64 {
			return score(strings.TrimSpace(r) == truth) + float64(len(r))/500
		}, "swapped truth"},
		{"constant", numbers, func(string, string) float64 { return 1 }, "form without content"},
		{"magic word", numbers, func(r, truth string) float64 {
			return score(strings.TrimSpace(r) == truth || strings.Contains(strings.ToLower(r), "the answer is correct"))
		}, "swapped truth"},
	} {
		r := run(t, c.score, rows(c.truths...), 2, attack.Options{Rounds: 4, Quiet: 4})
		var doubts []string
		for _, f := range r.Findings {
			doubts = append(doubts, f.Doubt)
			require.NotEmpty(t, f.Evidence, c.name)
			require.Len(t, f.ID, 12)
		}
		require.Contains(t, doubts, c.doubt, c.name)
	}
}

// Promise: sound rewards have no finding: one answer is read and compared, in value, with part credit, with
// credit for the form, for closeness, or with a penalty.
func TestSound(t *testing.T) {
	last := func(r string) string {
		m := digit.FindAllString(r, -1)
		if len(m) == 0 {
			return ""
		}
		return m[len(m)-1]
	}
	for _, c := range []struct {
		name   string
		truths []string
		score  scorer
	}{
		{"exact", words, func(r, truth string) float64 { return score(strings.EqualFold(strings.TrimSpace(r), truth)) }},
		{"one tag", numbers, func(r, truth string) float64 { a, _ := only(r); return score(a == truth) }},
		{"yes or no", yesNo, func(r, truth string) float64 { a, _ := only(r); return score(strings.EqualFold(a, truth)) }},
		{"words of the reward", yesNo, func(r, truth string) float64 {
			a, _ := only(r)
			return score((a == "yes" || a == "no") && a == truth)
		}},
		{"last number", numbers, func(r, truth string) float64 { return score(last(r) == truth) }},
		{"format and answer", numbers, func(r, truth string) float64 {
			a, ok := only(r)
			return 0.2*score(ok) + 0.8*score(a == truth)
		}},
		{"minus one", numbers, func(r, truth string) float64 { a, _ := only(r); return 2*score(a == truth) - 1 }},
		{"abstain", numbers, func(r, truth string) float64 {
			a, ok := only(r)
			if !ok {
				return 0
			}
			return 2*score(a == truth) - 1
		}},
		{"close", numbers, func(r, truth string) float64 {
			v, err := strconv.ParseFloat(last(r), 64)
			want, _ := strconv.ParseFloat(truth, 64)
			if err != nil {
				return 0
			}
			return max(0, 1-math.Abs(v-want)/(math.Abs(want)+1))
		}},
		{"tolerance", numbers, func(r, truth string) float64 {
			v, err := strconv.ParseFloat(last(r), 64)
			want, _ := strconv.ParseFloat(truth, 64)
			return score(err == nil && math.Abs(v-want) <= 0.05*math.Abs(want))
		}},
		{"unknown form", numbers, func(r, truth string) float64 {
			return 0.1*score(strings.HasPrefix(r, "[[")) + 0.9*score(r == "[["+truth+"]]")
		}},
	} {
		r := run(t, c.score, rows(c.truths...), 2, attack.Options{Rounds: 5, Quiet: 5})
		require.Empty(t, r.Findings, c.name)
	}
}

// Promise: the same seed finds the same at any parallelism.
func TestSameSeedSameFindings(t *testing.T) {
	s := scorer(func(r, truth string) float64 { return score(strings.Contains(r, truth)) })
	one := run(t, s, rows(numbers...), 1, attack.Options{Rounds: 5, Quiet: 5, Seed: 3})
	many := run(t, s, rows(numbers...), 7, attack.Options{Rounds: 5, Quiet: 5, Seed: 3})
	require.NotEmpty(t, one.Findings)
	require.Equal(t, one, many)
}

// Promise: a search that was continued finds what one without a break does.
func TestContinued(t *testing.T) {
	s := scorer(func(r, truth string) float64 { return score(strings.Contains(r, truth)) })
	whole := run(t, s, rows(numbers...), 2, attack.Options{Rounds: 6, Quiet: 6})
	state := &attack.State{Dir: t.TempDir(), About: "x"}
	for _, rounds := range []int{2, 3, 6} {
		r := run(t, s, rows(numbers...), 2, attack.Options{Rounds: rounds, Quiet: 6, State: state})
		if rounds == 6 {
			require.Equal(t, text(t, whole), text(t, r))
		}
	}
	other := *state
	other.About = "y"
	pool := reward.NewPool([]reward.Weighted{{Scorer: s, Weight: 1}}, 1)
	_, err := attack.Run(t.Context(), attack.Subject{Pool: pool, Rows: rows(numbers...)}, attack.Options{Rounds: 7, State: &other})
	require.ErrorContains(t, err, "another attack")
}

func text(t *testing.T, r *attack.Result) string {
	raw, err := json.Marshal(r)
	require.NoError(t, err)
	return string(raw)
}

// Promise: a search that is interrupted returns what it found, and the cause.
func TestInterrupted(t *testing.T) {
	stop := errors.New("stop")
	ctx, cancel := context.WithCancelCause(t.Context())
	s := scorer(func(r, truth string) float64 { return score(strings.Contains(r, truth)) })
	pool := reward.NewPool([]reward.Weighted{{Scorer: s, Weight: 1}}, 2)
	r, err := attack.Run(ctx, attack.Subject{Pool: pool, Rows: rows(numbers...)}, attack.Options{Quiet: 100, Tell: func(p attack.Progress) {
		if p.Round == 3 {
			cancel(stop)
		}
	}})
	require.ErrorIs(t, err, stop)
	require.NotEmpty(t, r.Findings)
	require.Equal(t, 3, r.Rounds)
}

// Promise: a reply that the reference finds right is not reported, and one that it finds wrong is.
func TestReference(t *testing.T) {
	loose := scorer(func(r, truth string) float64 { return score(strings.HasPrefix(strings.TrimSpace(r), truth)) })
	strict := scorer(func(r, truth string) float64 { return score(strings.TrimSpace(r) == truth) })
	pool := func(s scorer) *reward.Pool { return reward.NewPool([]reward.Weighted{{Scorer: s, Weight: 1}}, 2) }
	r, err := attack.Run(t.Context(), attack.Subject{Pool: pool(loose), Reference: pool(strict), Rows: rows(words...)}, attack.Options{Rounds: 4, Quiet: 4})
	require.NoError(t, err)
	require.NotEmpty(t, r.Findings)
	r, err = attack.Run(t.Context(), attack.Subject{Pool: pool(loose), Reference: pool(loose), Rows: rows(words...)}, attack.Options{Rounds: 4, Quiet: 4})
	require.NoError(t, err)
	require.Empty(t, r.Findings)
}
