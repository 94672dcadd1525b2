package result

import (
	"math"

	"github.com/merit-rl/merit/core/rl"
)

// Take checks a complete result of the current member, as if host calls had
// sent it.
func (c *Collector) Take(r *rl.EvaluateResult) error {
	if r.Error != "" {
		return c.SetError([]byte(r.Error))
	}
	for _, m := range r.Metrics {
		if err := c.TakeMetric(-1, m); err != nil {
			return err
		}
	}
	for i := range r.StepOutputs {
		if err := c.takeStep(&r.StepOutputs[i]); err != nil {
			return err
		}
	}
	if err := c.SetReason([]byte(r.Reason)); err != nil || !r.IsScoreValid {
		return err
	}
	return c.SetScore(r.Score)
}

func (c *Collector) takeStep(s *rl.StepOutput) error {
	if s.StepIndex > math.MaxInt32 || s.StepIndex < math.MinInt32 {
		return Violation("step %d is out of range", s.StepIndex)
	}
	if err := c.SetStep(int32(s.StepIndex), s.BaseReward); err != nil {
		return err
	}
	if err := c.SetStepReason(int32(s.StepIndex), []byte(s.Reason)); err != nil {
		return err
	}
	for _, m := range s.Metrics {
		if err := c.TakeMetric(int(s.StepIndex), m); err != nil {
			return err
		}
	}
	return nil
}

// TakeMetric adds a metric with its own validity and reason; step −1 means the
// whole result.
func (c *Collector) TakeMetric(step int, m rl.Metric) error {
	metric, err := c.newMetric(step, []byte(m.Name), m.Score)
	if err != nil {
		return err
	}
	if metric.Reason, err = c.take([]byte(m.Reason)); err != nil {
		return err
	}
	metric.IsScoreValid = m.IsScoreValid
	if step < 0 {
		m, err := c.member()
		if err == nil {
			m.metrics = append(m.metrics, metric)
		}
		return err
	}
	s, err := c.step(int32(step))
	if err == nil {
		s.Metrics = append(s.Metrics, metric)
	}
	return err
}
