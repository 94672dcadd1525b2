package prompt

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/stats"
)

// Estimate is a mean score with its 95 % interval: Wilson's if every score is 0 or 1, else a
// bootstrap (BCa).
type Estimate struct {
	Mean     float64 `json:"mean"`
	Low      float64 `json:"low"`
	High     float64 `json:"high"`
	N        int     `json:"n"`        // answers with a score; if 0, the other numbers are meaningless
	Unscored int     `json:"unscored"` // answers without one
}

// Point is the held-out score of the best candidate after a round.
type Point struct {
	Round     int      `json:"round"` // 0 is the start
	Candidate int      `json:"candidate"`
	HeldOut   Estimate `json:"held_out"`
}

// Verdict is the conclusion of the held-out tasks about the chosen prompt.
type Verdict string

// The verdicts.
const (
	Raised    Verdict = "raised"    // better than the start: the interval of the difference is above 0
	Lowered   Verdict = "lowered"   // worse
	NotShown  Verdict = "not_shown" // the interval contains 0, or the test is not significant
	Unchanged Verdict = "unchanged" // the start was chosen
)

// Difference compares the chosen prompt with the start, task by task.
type Difference struct {
	Mean float64 `json:"mean"` // mean of chosen − start
	Low  float64 `json:"low"`  // 95 %, paired bootstrap (BCa)
	High float64 `json:"high"`
	P    float64 `json:"p"` // Wilcoxon signed-rank test, two-sided
	N    int     `json:"n"` // tasks with a score under both prompts
	// Better and Worse count the tasks on which the chosen prompt scored more, and less.
	Better  int     `json:"better"`
	Worse   int     `json:"worse"`
	Verdict Verdict `json:"verdict"`
}

// significance is the largest P for a verdict, in addition to the interval: the bootstrap
// interval of a few equal differences has no width.
const significance = 0.05

// validate plays the held-out tasks with the start and the chosen prompt and, as far as the
// budget allows, with the best of each round.
func (s *search) validate(ctx context.Context, chosen *candidate) ([]Point, error) {
	tasks := make([]int, len(s.HeldOut))
	for i := range tasks {
		tasks[i] = i
	}
	play := func(pool ...*candidate) error {
		return s.playOn(ctx, "held-out tasks", pool, tasks, s.HeldOut, seedHeldOut, func(c *candidate) map[int]worth { return c.held })
	}
	pool := []*candidate{s.all[0]}
	if chosen != s.all[0] {
		pool = append(pool, chosen)
	}
	if err := play(pool...); err != nil {
		return nil, err
	}
	s.must, s.reserve = false, 0
	points := []Point{s.point(0, s.all[0])}
	for _, r := range s.rounds {
		best := s.all[r.Beam[0]]
		if err := play(best); err != nil && !errors.Is(err, errBudget) {
			return nil, err
		}
		if len(best.held) > 0 {
			points = append(points, s.point(r.Number, best))
		}
	}
	return points, nil
}

func (s *search) point(round int, c *candidate) Point {
	return Point{Round: round, Candidate: c.ID, HeldOut: s.estimate(c.held)}
}

// estimate returns the estimate of the scores in plays, in the order of their tasks.
func (s *search) estimate(plays map[int]worth) (e Estimate) {
	var scores []float64
	wins, binary := 0, true
	for _, i := range slices.Sorted(maps.Keys(plays)) {
		w := plays[i]
		if w.outcome != reward.Scored {
			e.Unscored++
			continue
		}
		scores = append(scores, w.score)
		if binary = binary && (w.score == 0 || w.score == 1); w.score == 1 {
			wins++
		}
	}
	if e.N = len(scores); e.N == 0 {
		return e
	}
	if !binary {
		e.Mean, e.Low, e.High = stats.Bootstrap(scores, s.bootstrap())
		return e
	}
	e.Mean = float64(wins) / float64(e.N)
	e.Low, e.High = stats.Wilson(wins, e.N)
	return e
}

func (s *search) bootstrap() uint64 { return uint64(s.Seed.Path(seedBootstrap)) }

// compare compares chosen with the start.
func (s *search) compare(chosen *candidate) Difference {
	d := Difference{P: 1, Verdict: Unchanged}
	start := s.all[0]
	var differences []float64
	for i := range s.HeldOut {
		a, b := start.held[i], chosen.held[i]
		if a.outcome != reward.Scored || b.outcome != reward.Scored {
			continue
		}
		differences = append(differences, b.score-a.score)
		if b.score > a.score {
			d.Better++
		} else if b.score < a.score {
			d.Worse++
		}
	}
	d.N = len(differences)
	if chosen == start {
		return d
	}
	d.Verdict = NotShown
	if d.N == 0 {
		return d
	}
	d.Mean, d.Low, d.High = stats.Bootstrap(differences, s.bootstrap())
	d.P = stats.SignedRank(differences)
	switch {
	case d.P >= significance:
	case d.Low > 0:
		d.Verdict = Raised
	case d.High < 0:
		d.Verdict = Lowered
	}
	return d
}

// Sentence describes the difference in one sentence.
func (d Difference) Sentence() string {
	figures := fmt.Sprintf("%+.3f on %d held-out tasks, 95 %% [%+.3f, %+.3f], better on %d and worse on %d", d.Mean, d.N, d.Low, d.High, d.Better, d.Worse)
	switch {
	case d.Verdict == Unchanged:
		return "no candidate scored higher than the start on the training tasks: the prompt is unchanged"
	case d.N == 0:
		return "no held-out task has a score under both prompts: there is no comparison"
	case d.Verdict == Raised:
		return "the prompt raised the held-out score by " + figures
	case d.Verdict == Lowered:
		return "the prompt lowered the held-out score: " + figures
	}
	return "no difference is shown: " + figures
}
