package show

import (
	"fmt"

	"github.com/merit-rl/merit/core/run"
)

// Metric returns two cells of a table: the mean of a metric in s and its
// interval, both empty if s does not have it.
func Metric(s run.Score, name string) []string {
	m, ok := s.Metric(name)
	if !ok {
		return []string{"", ""}
	}
	return []string{fmt.Sprintf("%.4g", m.Mean), fmt.Sprintf("[%.4g, %.4g]", m.Interval[0], m.Interval[1])}
}
