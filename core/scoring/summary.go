package scoring

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/data/jsonl"
)

// Summary is the summary of a whole pass.
type Summary struct {
	Trajectories int            `json:"trajectories"`
	Outcomes     []reward.Count `json:"outcomes"`
	Mean         *float64       `json:"mean_score"` // null if nothing was scored
	Std          *float64       `json:"std_score"`  // sample standard deviation; null for fewer than two scores
	Min          *float64       `json:"min_score"`
	Max          *float64       `json:"max_score"`
	MeanFuel     float64        `json:"mean_fuel"`
	MaxFuel      uint64         `json:"max_fuel"`
	// Kept is how many of the results came from an earlier pass.
	Kept int `json:"kept"`
	// WithoutGroundTruth is how many trajectories have no ground truth.
	WithoutGroundTruth int       `json:"without_ground_truth"`
	Skipped            jsonl.Bad `json:"skipped"` // lines, if Run.SkipBad is set
	// Warnings report what makes the scores doubtful as a whole, if Run.Doubts
	// is set.
	Warnings []Warning `json:"warnings,omitempty"`
	// DecidedBy counts the scores of each reward of Run.Deciders.
	DecidedBy []decided `json:"decided_by,omitempty"`
	// FirstUnscored is the id of the first trajectory without a score; empty if all have one.
	FirstUnscored string `json:"-"`

	counts   map[reward.Outcome]int
	mean, m2 float64 // Welford
	fuel     float64
	examples []string
	deciders map[string][]string
}

// decided is how many scores one of several rewards gave.
type decided struct {
	Reward string `json:"reward"`
	N      int    `json:"n"`
	metric string // in which results say that it decided
	at     int    // its position, the score of the metric
}

// quoted is how many trajectories without a score an error lists.
const quoted = 3

// Summarize returns the summary of complete results.
func Summarize(results []Result) *Summary {
	s := newSummary()
	for _, r := range results {
		s.add(r)
	}
	s.Skipped.First = []jsonl.BadLine{} // an empty list in JSON, not null
	return s
}

func newSummary() *Summary { return &Summary{counts: map[reward.Outcome]int{}} }

func (s *Summary) add(r Result) {
	s.Trajectories++
	s.counts[r.Outcome]++
	s.fuel += float64(r.Fuel)
	s.MaxFuel = max(s.MaxFuel, r.Fuel)
	s.MeanFuel = s.fuel / float64(s.Trajectories)
	s.Outcomes = s.Outcomes[:0]
	for _, o := range reward.Outcomes {
		if n := s.counts[o]; n > 0 {
			s.Outcomes = append(s.Outcomes, reward.Count{Outcome: o, N: n})
		}
	}
	if r.Outcome != reward.Scored || r.Score == nil {
		if len(s.examples) < quoted {
			s.examples = append(s.examples, fmt.Sprintf("%s: %s (%s)", r.ID, r.Outcome, r.Reason))
			s.FirstUnscored = cmp.Or(s.FirstUnscored, r.ID)
		}
		return
	}
	s.decide(r.Metrics)
	x, n := *r.Score, float64(s.counts[reward.Scored])
	delta := x - s.mean
	s.mean += delta / n
	s.m2 += delta * (x - s.mean)
	mean := s.mean
	s.Mean = &mean
	if n > 1 {
		std := math.Sqrt(s.m2 / (n - 1))
		s.Std = &std
	}
	if s.Min == nil || x < *s.Min {
		s.Min = &x
	}
	if s.Max == nil || x > *s.Max {
		s.Max = &x
	}
}

// decide counts the rewards that gave a score.
func (s *Summary) decide(metrics rl.Metrics) {
	if s.DecidedBy == nil {
		for _, metric := range slices.Sorted(maps.Keys(s.deciders)) {
			for at, name := range s.deciders[metric] {
				s.DecidedBy = append(s.DecidedBy, decided{Reward: name, metric: metric, at: at})
			}
		}
	}
	for i := range s.DecidedBy {
		d := &s.DecidedBy[i]
		if m, ok := metrics.Get(d.metric); ok && m.Score == float64(d.at) {
			d.N++
		}
	}
}

// Unscored returns nil if every trajectory has a score. Otherwise the error
// contains how many have none, why, and the first of them.
func (s *Summary) Unscored() error {
	missing := s.Trajectories - s.counts[reward.Scored]
	if missing == 0 {
		return nil
	}
	var counts []string
	for _, c := range s.Outcomes {
		if c.Outcome != reward.Scored {
			counts = append(counts, fmt.Sprintf("%s %d", c.Outcome, c.N))
		}
	}
	return &fault.Error{
		Boundary: fault.Sandbox, Kind: fault.Unscored,
		What: fmt.Sprintf("%d of %d evaluations have no score (%s); first:\n%s",
			missing, s.Trajectories, strings.Join(counts, ", "), strings.Join(s.examples, "\n")),
		Hint: "treat these as missing, or correct the reward: a failed reward is never 0",
	}
}
