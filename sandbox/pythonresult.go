package sandbox

import (
	"math"
	"strconv"

	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/sandbox/internal/marshal"
)

var _ describer = (*pythonSession)(nil)

// Kinds of answer in merit_reward._sandbox.
const (
	pythonResults = iota
	pythonFailed
	pythonNoMemory
)

const unreadable = "the interpreter gave an answer that cannot be read"

// answer reads what serve left behind: the kind of answer, and a result for
// each member or a traceback.
func (s *pythonSession) answer() *verdict {
	object := s.word(s.word(s.hello.answer + listItems))
	data, ok := s.instance.Bytes(object+bytesData, s.word(object+objectSize))
	if !ok {
		return violation(unreadable)
	}
	c := s.collector
	if len(data) > c.limits.OutputKiB<<10 {
		return overOutput("output_kib")
	}
	s.instance.Charge(uint64(len(data)))
	v, err := marshal.Decode(data)
	if err != nil || v.Kind != marshal.List || len(v.Items) != 2 {
		return violation(unreadable)
	}
	results := v.Items[1]
	switch kind := v.Items[0].Int; {
	case kind == pythonNoMemory && s.instance.MemoryDenied():
		return s.noMemory(escape(string(results.Text)))
	case kind != pythonResults:
		c.current = -1 // the error is all members'
		return asVerdict(c.setError(results.Text))
	case len(results.Items) != len(c.members):
		return violation(unreadable)
	}
	for i := range results.Items {
		c.current = i
		if err := c.pythonResult(&results.Items[i]); err != nil {
			return asVerdict(err)
		}
	}
	return nil
}

// pythonResult takes a result of the present member: a number, or a dict with
// the fields of an EvaluateResult.
func (c *collector) pythonResult(v *marshal.Value) error {
	if v.Kind != marshal.Dict {
		score, err := number("the score", v)
		if err != nil {
			return err
		}
		return c.setScore(score)
	}
	if e := v.Get("error"); e.Kind == marshal.Text && len(e.Text) > 0 {
		return c.setError(e.Text)
	}
	if err := c.pythonMetrics(-1, v.Get("metrics")); err != nil {
		return err
	}
	steps := v.Get("step_outputs")
	for i := range steps.Items {
		if err := c.pythonStep(&steps.Items[i]); err != nil {
			return err
		}
	}
	if err := c.setReason(v.Get("reason").Text); err != nil || !truth(v.Get("is_score_valid")) {
		return err
	}
	score, err := number("the score", v.Get("score"))
	if err != nil {
		return err
	}
	return c.setScore(score)
}

func (c *collector) pythonStep(v *marshal.Value) error {
	index, err := whole("a step_index", v.Get("step_index"))
	if err != nil {
		return err
	}
	base, err := number("a base_reward", v.Get("base_reward"))
	if err != nil {
		return err
	}
	if err := c.setStep(index, base); err != nil {
		return err
	}
	if err := c.stepReason(index, v.Get("reason").Text); err != nil {
		return err
	}
	return c.pythonMetrics(int(index), v.Get("metrics"))
}

func (c *collector) pythonMetrics(step int, v *marshal.Value) error {
	if v.Kind != marshal.Dict {
		return nil
	}
	for items := v.Items; len(items) > 1; items = items[2:] {
		name, value := items[0], &items[1]
		m := rl.Metric{Name: string(name.Text), IsScoreValid: true}
		if value.Kind == marshal.Dict {
			m.IsScoreValid, m.Reason = truth(value.Get("is_score_valid")), string(value.Get("reason").Text)
			value = value.Get("score")
		}
		var err error
		if m.Score, err = number("the metric "+strconv.Quote(m.Name), value); err != nil {
			return err
		}
		if err := c.metricResult(step, m); err != nil {
			return err
		}
	}
	return nil
}

// truth is Python's: what is absent counts as true.
func truth(v *marshal.Value) bool {
	switch v.Kind {
	case marshal.Bool:
		return v.Bool
	case marshal.Int:
		return v.Int != 0
	}
	return true
}

func number(what string, v *marshal.Value) (float64, error) {
	switch v.Kind {
	case marshal.Float:
		return v.Float, nil
	case marshal.Int:
		return float64(v.Int), nil
	case marshal.Bool:
		if v.Bool {
			return 1, nil
		}
		return 0, nil
	case marshal.None:
		return 0, violation("%s is missing", what)
	}
	return 0, violation("%s is not a number", what)
}

// whole reads 3 and "3".
func whole(what string, v *marshal.Value) (int32, error) {
	n := v.Int
	if v.Kind == marshal.Text {
		parsed, err := strconv.ParseInt(string(v.Text), 10, 32)
		if err != nil {
			return 0, violation("%s is %q, not a whole number", what, escape(string(v.Text)))
		}
		n = parsed
	} else if v.Kind != marshal.Int {
		return 0, violation("%s is not a whole number", what)
	}
	if n < math.MinInt32 || n > math.MaxInt32 {
		return 0, violation("%s is %d, which is out of range", what, n)
	}
	return int32(n), nil
}

// shaped reports whether v is a list of items of these kinds.
func shaped(v *marshal.Value, kinds ...marshal.Kind) bool {
	if v.Kind != marshal.List || len(v.Items) != len(kinds) {
		return false
	}
	for i, k := range kinds {
		if v.Items[i].Kind != k {
			return false
		}
	}
	return true
}
