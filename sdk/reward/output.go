package reward

// Level is the level of a line in the log.
type Level int32

// The levels.
const (
	Debug Level = iota
	Info
	Warning
	ErrorLevel
)

// Output sends results to the host one by one, for rewards with many results: the
// guest does not collect them.
type Output struct {
	host   host
	status int32
}

// host receives the results: the sandbox, or a recorder outside of it.
type host interface {
	score(float64)
	step(index int, reward float64)
	stepMetric(index int, name string, value float64)
	stepReason(index int, text string)
	metric(name string, value float64)
	reason(text string)
	fail(text string)
	log(level Level, text string)
}

const (
	statusScored int32 = iota
	statusInvalid
	statusError
)

// Score sets the score. Call it once.
func (o *Output) Score(score float64) { o.host.score(score) }

// Step sets the base reward of the step with this index among the assistant
// messages. Call it once per step.
func (o *Output) Step(index int, reward float64) { o.host.step(index, reward) }

// StepMetric adds a measurement to a step whose reward is already set.
func (o *Output) StepMetric(index int, name string, value float64) {
	o.host.stepMetric(index, name, value)
}

// StepReason explains a step whose reward is already set.
func (o *Output) StepReason(index int, text string) { o.host.stepReason(index, text) }

// Metric adds a measurement.
func (o *Output) Metric(name string, value float64) { o.host.metric(name, value) }

// Reason explains the result.
func (o *Output) Reason(text string) { o.host.reason(text) }

// Invalid reports that there is no valid score, and why.
func (o *Output) Invalid(reason string) {
	o.host.reason(reason)
	o.status = statusInvalid
}

// Error reports that the reward failed.
func (o *Output) Error(text string) {
	o.host.fail(text)
	o.status = statusError
}

// Log writes a line to the log of the evaluation.
func (o *Output) Log(level Level, text string) { o.host.log(level, text) }

// Result sends a complete result.
func (o *Output) Result(r Result) {
	for i := range r.Metrics {
		o.host.metric(r.Metrics[i].Name, r.Metrics[i].Value)
	}
	for i := range r.Steps {
		s := &r.Steps[i]
		o.host.step(s.Index, s.Reward)
		if s.Reason != "" {
			o.host.stepReason(s.Index, s.Reason)
		}
		for _, m := range s.Metrics {
			o.host.stepMetric(s.Index, m.Name, m.Value)
		}
	}
	if r.Reason != "" {
		o.host.reason(r.Reason)
	}
	switch {
	case r.Error != "":
		o.host.fail(r.Error)
		o.status = statusError
	case r.Invalid:
		o.status = statusInvalid
	default:
		o.host.score(r.Score)
	}
}

// Record runs a streaming reward outside the sandbox and returns what it sent,
// for tests.
func Record(stream func(*Rollout, *Output), r *Rollout) Result {
	rec := &recorder{}
	out := Output{host: rec}
	stream(r, &out)
	rec.result.Invalid = out.status == statusInvalid
	return rec.result
}

type recorder struct{ result Result }

func (r *recorder) score(v float64) { r.result.Score = v }

func (r *recorder) step(index int, reward float64) {
	r.result.Steps = append(r.result.Steps, StepReward{Index: index, Reward: reward})
}

func (r *recorder) stepMetric(index int, name string, value float64) {
	if s := r.find(index); s != nil {
		s.Metrics = append(s.Metrics, Metric{name, value})
	}
}

func (r *recorder) stepReason(index int, text string) {
	if s := r.find(index); s != nil {
		s.Reason = text
	}
}

func (r *recorder) find(index int) *StepReward {
	for i := range r.result.Steps {
		if r.result.Steps[i].Index == index {
			return &r.result.Steps[i]
		}
	}
	return nil
}

func (r *recorder) metric(name string, value float64) {
	r.result.Metrics = append(r.result.Metrics, Metric{name, value})
}

func (r *recorder) reason(text string) { r.result.Reason = text }
func (r *recorder) fail(text string)   { r.result.Error = text }
func (r *recorder) log(Level, string)  {}
