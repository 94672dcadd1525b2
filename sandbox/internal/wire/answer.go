package wire

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
)

// Answer is the answer to a Request. Its evaluations have no fuel, which is
// given once for all of them, no log, which is the same for each, and no time.
type Answer struct {
	Fuel        uint64
	Log         string
	Evaluations []reward.Evaluation
}

// The least sizes of what is counted.
const (
	evaluationSize = 1 + 1 + 8 + 4*4
	metricSize     = 4 + 8 + 1 + 4
	stepSize       = 4 + 8 + 4 + 4
)

// Append appends the payload of Result.
func (a *Answer) Append(b []byte) []byte {
	b = appendText(binary.LittleEndian.AppendUint64(b, a.Fuel), a.Log)
	b = appendU32(b, len(a.Evaluations))
	for i := range a.Evaluations {
		e := &a.Evaluations[i]
		b = append(b, byte(slices.Index(reward.Outcomes, e.Outcome)))
		b = appendFlag(b, e.Result.IsScoreValid)
		b = appendNumber(b, e.Result.Score)
		b = appendText(appendText(b, e.Reason), e.Result.Reason)
		b = appendMetrics(b, e.Result.Metrics)
		b = appendU32(b, len(e.Result.StepOutputs))
		for _, s := range e.Result.StepOutputs {
			b = appendNumber(appendU32(b, int(s.StepIndex)), s.BaseReward)
			b = appendMetrics(appendText(b, s.Reason), s.Metrics)
		}
	}
	return b
}

func appendMetrics(b []byte, metrics rl.Metrics) []byte {
	b = appendU32(b, len(metrics))
	for _, m := range metrics {
		b = appendFlag(appendNumber(appendText(b, m.Name), m.Score), m.IsScoreValid)
		b = appendText(b, m.Reason)
	}
	return b
}

// ParseAnswer decodes the payload of Result. Outcomes are known, numbers are
// finite and texts are UTF-8; whether steps exist is not checked here.
func ParseAnswer(payload []byte) (*Answer, error) {
	r := reader{rest: payload}
	a := &Answer{Fuel: r.u64(), Log: r.text()}
	n := r.count(evaluationSize)
	a.Evaluations = make([]reward.Evaluation, n)
	for i := range a.Evaluations {
		r.evaluation(&a.Evaluations[i])
	}
	return a, r.done()
}

func (r *reader) evaluation(e *reward.Evaluation) {
	outcome := int(r.u8())
	if outcome >= len(reward.Outcomes) {
		r.bad = true
		return
	}
	e.Outcome = reward.Outcomes[outcome]
	e.Result.IsScoreValid = r.flag()
	e.Result.Score = r.number()
	e.Reason, e.Result.Reason = r.text(), r.text()
	e.Result.Metrics = r.metrics()
	n := r.count(stepSize)
	if n == 0 {
		return
	}
	e.Result.StepOutputs = make([]rl.StepOutput, n)
	for i := range e.Result.StepOutputs {
		s := &e.Result.StepOutputs[i]
		index := r.u32()
		r.bad = r.bad || index > math.MaxInt32
		s.StepIndex, s.BaseReward, s.Reason, s.Metrics = rl.StepIndex(index), r.number(), r.text(), r.metrics()
	}
}

func (r *reader) metrics() rl.Metrics {
	n := r.count(metricSize)
	if n == 0 {
		return nil
	}
	list := make(rl.Metrics, n)
	for i := range list {
		list[i] = rl.Metric{Name: r.text(), Score: r.number(), IsScoreValid: r.flag(), Reason: r.text()}
	}
	return list
}
