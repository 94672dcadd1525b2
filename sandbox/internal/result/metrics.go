package result

import (
	"unicode/utf8"

	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/sandbox/internal/text"
)

type metricKey struct {
	member, step int
	name         string
}

const maxNameBytes = 256

// AddMetric adds a metric of the whole result.
func (c *Collector) AddMetric(name []byte, v float64) error {
	m, err := c.member()
	if err != nil {
		return err
	}
	metric, err := c.newMetric(-1, name, v)
	if err != nil {
		return err
	}
	m.metrics = append(m.metrics, metric)
	return nil
}

// AddStepMetric adds a metric of a step whose reward is set.
func (c *Collector) AddStepMetric(index int32, name []byte, v float64) error {
	s, err := c.step(index)
	if err != nil {
		return err
	}
	metric, err := c.newMetric(int(index), name, v)
	if err != nil {
		return err
	}
	s.Metrics = append(s.Metrics, metric)
	return nil
}

func (c *Collector) newMetric(step int, name []byte, v float64) (rl.Metric, error) {
	if c.metrics++; c.metrics > c.limits.Steps {
		return rl.Metric{}, OverOutput("steps")
	}
	if len(name) == 0 || len(name) > maxNameBytes {
		return rl.Metric{}, Violation("a metric's name has %d bytes; it needs 1 to %d", len(name), maxNameBytes)
	}
	s, known := c.names[string(name)]
	if known {
		if err := c.charge(len(name)); err != nil {
			return rl.Metric{}, err
		}
	} else {
		var err error
		if s, err = c.take(name); err != nil {
			return rl.Metric{}, err
		}
		c.names[string(name)] = s
	}
	key := metricKey{c.current, step, s}
	if _, twice := c.seen[key]; twice {
		return rl.Metric{}, Violation("the metric %q was set twice", s)
	}
	if !finite(v) {
		return rl.Metric{}, Violation("the metric %q is %v, not a finite number", s, v)
	}
	c.seen[key] = struct{}{}
	return rl.Metric{Name: s, Score: v, IsScoreValid: true}, nil
}

// charge counts text against its limit, even if the same text was counted
// before.
func (c *Collector) charge(n int) error {
	if c.text += n; c.text > c.limits.OutputKiB<<10 {
		return OverOutput("output_kib")
	}
	return nil
}

// take checks guest text and copies it.
func (c *Collector) take(said []byte) (string, error) {
	if err := c.charge(len(said)); err != nil {
		return "", err
	}
	if !utf8.Valid(said) {
		return "", Violation("a text is not valid UTF-8")
	}
	return text.Escape(string(said)), nil
}
