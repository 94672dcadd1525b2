package exact

import (
	"math"

	"github.com/merit-rl/merit/core/stats"
)

// Row says how well advantages agree with the exact ones.
type Row struct {
	Name     string   `json:"name"`
	Pearson  float64  `json:"pearson"` // over steps
	Low      *float64 `json:"low"`     // 95 % interval of it, by starts; nil if there is none
	High     *float64 `json:"high"`
	Spearman float64  `json:"spearman"`
	Sign     float64  `json:"sign"`      // share of the steps that changed something and got its sign; none counts as half
	Steps    int      `json:"steps"`     // of members, those that get an advantage
	EnvSteps int      `json:"env_steps"` // of members and branches, what they share counted once
}

// series collects advantages with the exact ones.
type series struct {
	found, exact []float64
	start        stats.Clusters
	envSteps     int
}

func (s *series) add(found, exact float64, start int) {
	s.found, s.exact, s.start = append(s.found, found), append(s.exact, exact), append(s.start, start)
}

const (
	resamples = 1000 // of the bootstrap
	still     = 1e-9 // the largest advantage that counts as none
)

func (s *series) row(name string, seed uint64) Row {
	r := Row{Name: name, Steps: len(s.found), EnvSteps: s.envSteps, Sign: s.sign()}
	r.Pearson, _ = stats.Pearson(s.found, s.exact)
	r.Spearman, _ = stats.Spearman(s.found, s.exact)
	x, y := make([]float64, 0, len(s.found)), make([]float64, 0, len(s.found))
	low, high := s.start.Percentile(func(at []int) float64 {
		x, y = x[:0], y[:0]
		for _, k := range at {
			x, y = append(x, s.found[k]), append(y, s.exact[k])
		}
		if p, ok := stats.Pearson(x, y); ok {
			return p
		}
		return math.NaN()
	}, resamples, seed)
	if !math.IsNaN(low) && !math.IsNaN(high) {
		r.Low, r.High = &low, &high
	}
	return r
}

// sign returns the share of the steps with an exact advantage that got its sign.
func (s *series) sign() float64 {
	right, moved := 0.0, 0.0
	for i, a := range s.exact {
		if math.Abs(a) < still {
			continue
		}
		moved++
		switch f := s.found[i]; {
		case math.Abs(f) < still:
			right += 0.5
		case (f > 0) == (a > 0):
			right++
		}
	}
	return right / max(moved, 1)
}
