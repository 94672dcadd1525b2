package sandbox

import (
	"bytes"
	"encoding/json"
	"math"

	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/sandbox/internal/engine"
)

// command is the profile of WASI commands: one JSON request on a line of
// standard input, one EvaluateResult on the last line of standard output. The
// request is the trajectory as in Merit's files, with messages, ground_truth,
// metadata and steps. What is printed before the result becomes the log. Every
// evaluation is a run of the program from its start.
type command struct{}

func (command) name() string { return "command-1" }
func (command) group() bool  { return false }

func (command) encoder(limits Limits) encoder {
	var buffer bytes.Buffer
	return func(members []*rl.Trajectory) ([]byte, error) {
		buffer.Reset()
		request := *members[0]
		request.Evaluation, request.Outcome = nil, ""
		if err := json.NewEncoder(&buffer).Encode(&request); err != nil {
			return nil, err
		}
		if buffer.Len() > limits.InputMiB<<20 {
			return nil, &verdict{reward.Infrastructure, "the input of the reward is larger than limits.input_mib allows"}
		}
		return buffer.Bytes(), nil
	}
}

func (c command) open(i *engine.Instance, to *collector, limits Limits) session {
	return &commandSession{instance: i, collector: to, main: i.Func("_start"), encode: c.encoder(limits)}
}

type commandSession struct {
	instance  *engine.Instance
	collector *collector
	main      *engine.Func
	encode    encoder
}

func (s *commandSession) start() *engine.Stop {
	f := s.instance.Start()
	if f == nil {
		return nil
	}
	_, stop := s.instance.Call(f)
	return stop
}

func (s *commandSession) memo() []byte        { return nil }
func (s *commandSession) resume([]byte) error { return nil }
func (s *commandSession) lasting() bool       { return false }

func (s *commandSession) input(members []*rl.Trajectory) ([]byte, error) { return s.encode(members) }

func (s *commandSession) evaluate(input []byte) (*verdict, *engine.Stop) {
	s.collector.stdin, s.collector.capture = input, true
	_, stop := s.instance.Call(s.main)
	if stop != nil && (stop.Kind != engine.Exited || stop.Code != 0) {
		return nil, stop
	}
	return s.collector.takeJSON(), nil
}

// takeJSON reads the result from the last line of the captured output.
func (c *collector) takeJSON() *verdict {
	out := bytes.TrimSpace(c.stdout)
	at := bytes.LastIndexByte(out, '\n') + 1
	if err := c.appendLog(out[:at]); err != nil {
		return asVerdict(err)
	}
	if len(out) == 0 {
		return violation("the command printed no result: write one line of JSON to standard output")
	}
	var r rl.EvaluateResult
	if err := json.Unmarshal(out[at:], &r); err != nil {
		return violation("the last line of standard output is not an EvaluateResult in JSON: %s", escape(err.Error()))
	}
	return c.takeResult(&r)
}

// takeResult checks a whole result of the present member as if it had come by host calls.
func (c *collector) takeResult(r *rl.EvaluateResult) *verdict {
	if r.Error != "" {
		return asVerdict(c.setError([]byte(r.Error)))
	}
	for _, m := range r.Metrics {
		if err := c.metricResult(-1, m); err != nil {
			return asVerdict(err)
		}
	}
	for _, s := range r.StepOutputs {
		if s.StepIndex > math.MaxInt32 || s.StepIndex < math.MinInt32 {
			return violation("step %d is out of range", s.StepIndex)
		}
		if err := c.setStep(int32(s.StepIndex), s.BaseReward); err != nil {
			return asVerdict(err)
		}
		if err := c.stepReason(int32(s.StepIndex), []byte(s.Reason)); err != nil {
			return asVerdict(err)
		}
		for _, m := range s.Metrics {
			if err := c.metricResult(int(s.StepIndex), m); err != nil {
				return asVerdict(err)
			}
		}
	}
	if err := c.setReason([]byte(r.Reason)); err != nil {
		return asVerdict(err)
	}
	if !r.IsScoreValid {
		return nil
	}
	return asVerdict(c.setScore(r.Score))
}

// metricResult takes a metric with its own validity and reason; step −1 is the
// result as a whole.
func (c *collector) metricResult(step int, m rl.Metric) error {
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
