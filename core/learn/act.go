package learn

import (
	"context"
	"fmt"
	"math"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/learn/internal/net"
	"github.com/merit-rl/merit/core/policy"
	"github.com/merit-rl/merit/core/rl"
)

var _ policy.Policy = (*Policy)(nil)

var _ policy.Rater = (*Policy)(nil)

// Act samples an action for each observation, or takes the most probable one (the
// first of equals) if the observation asks for it. A decision is a function of the
// parameters, its observation and its seed; an action that the mask rules out has
// probability 0. LogProb and Entropy are those of the sampled distribution.
func (p *Policy) Act(ctx context.Context, observations []policy.Observation, decisions []policy.Decision) error {
	return p.each(ctx, observations, decisions, p.decide)
}

// Rate implements policy.Rater: decisions[i].Action.Choice was made.
func (p *Policy) Rate(ctx context.Context, observations []policy.Observation, decisions []policy.Decision) error {
	return p.each(ctx, observations, decisions, p.rate)
}

// each runs the forward pass and calls decide for each decision with its logits.
func (p *Policy) each(ctx context.Context, observations []policy.Observation, decisions []policy.Decision,
	decide func(d *policy.Decision, o *policy.Observation, logits []float32) error,
) error {
	if len(decisions) != len(observations) {
		return &fault.Error{
			Boundary: fault.Learner, Kind: fault.Internal,
			What: fmt.Sprintf("%d decisions for %d observations", len(decisions), len(observations)),
		}
	}
	b := p.buffers.Get().(*net.Buffers)
	defer p.buffers.Put(b)
	b.Load(p.params, len(observations))
	for from := 0; from < len(observations); from += net.MaxRows {
		if err := ctx.Err(); err != nil {
			return err
		}
		to := min(from+net.MaxRows, len(observations))
		for i := from; i < to; i++ {
			if err := p.read(b.Input[(i-from)*p.net.Inputs:][:p.net.Inputs], &observations[i]); err != nil {
				return inRow(err, i)
			}
		}
		p.net.Forward(b, to-from)
		for i := from; i < to; i++ {
			logits := b.Logits[(i-from)*p.net.Actions:][:p.net.Actions]
			if err := decide(&decisions[i], &observations[i], logits); err != nil {
				return inRow(err, i)
			}
			if p.net.Critic != nil {
				decisions[i].Value, decisions[i].HasValue = float64(b.Values[i-from]), true
			}
		}
	}
	return nil
}

// read checks an observation and writes it into a row of the network's input.
func (p *Policy) read(dst []float32, o *policy.Observation) error {
	if len(o.Actions) != len(p.actions) {
		return mismatch("the environment offers %d actions; the network has %d", len(o.Actions), len(p.actions))
	}
	if o.Mask != nil && len(o.Mask) != len(p.actions) {
		return mismatch("a mask of %d actions; the network has %d", len(o.Mask), len(p.actions))
	}
	if p.text != nil {
		p.text.Encode(dst, o.Text)
		return nil
	}
	if len(o.Features) != len(dst) {
		return mismatch("%d features; the network reads %d", len(o.Features), len(dst))
	}
	copy(dst, o.Features)
	return nil
}

func (p *Policy) decide(d *policy.Decision, o *policy.Observation, logits []float32) error {
	s, err := newSoftmax(logits, o.Mask)
	if err != nil {
		return err
	}
	choice := s.best
	if !o.Greedy {
		choice = s.sample(o.Seed.Uniform())
	}
	*d = policy.Decision{
		Action:  rl.Action{Kind: rl.ActionChoice, Choice: choice, Text: p.actions[choice]},
		LogProb: s.logProb(choice), Entropy: s.entropy(), LogitMax: s.max,
	}
	return nil
}

// rate fills in d, whose choice is given, as if the policy had made it.
func (p *Policy) rate(d *policy.Decision, o *policy.Observation, logits []float32) error {
	s, err := newSoftmax(logits, o.Mask)
	if err != nil {
		return err
	}
	if c := d.Action.Choice; c < 0 || c >= len(logits) || !s.available(c) {
		return mismatch("action %d was not available", c)
	}
	d.LogProb, d.Entropy, d.LogitMax = s.logProb(d.Action.Choice), s.entropy(), s.max
	return nil
}

// softmax is the distribution of one row: exp(logit−max)/sum over the
// available actions.
type softmax struct {
	logits []float32
	mask   []byte
	max    float32
	best   int // first action with the largest logit
	sum    float64
}

func newSoftmax(logits []float32, mask []byte) (softmax, error) {
	s := softmax{logits: logits, mask: mask, best: -1}
	for a, x := range logits {
		if x-x != 0 {
			return s, &fault.Error{
				Boundary: fault.Learner, Kind: fault.Numeric, What: fmt.Sprintf("the logit of action %d is %v", a, x),
				Hint: "check the environment's features for infinite or NaN values, or lower learning_rate",
			}
		}
		if s.available(a) && (s.best < 0 || x > s.max) {
			s.max, s.best = x, a
		}
	}
	if s.best < 0 {
		return s, mismatch("no action is available")
	}
	for a := range logits {
		s.sum += s.weight(a)
	}
	return s, nil
}

func (s *softmax) available(a int) bool { return s.mask == nil || s.mask[a] != 0 }

func (s *softmax) shifted(a int) float64 {
	return float64(s.logits[a]) - float64(s.max)
}

// weight is the probability of action a times sum.
func (s *softmax) weight(a int) float64 {
	if !s.available(a) {
		return 0
	}
	return math.Exp(s.shifted(a))
}

func (s *softmax) logProb(a int) float64 { return s.shifted(a) - math.Log(s.sum) }

// entropy is log sum − Σ p·shifted, in nats.
func (s *softmax) entropy() float64 {
	var mean float64
	for a := range s.logits {
		if w := s.weight(a); w > 0 {
			mean += w * s.shifted(a)
		}
	}
	return max(0, math.Log(s.sum)-mean/s.sum)
}

// sample inverts the cumulative distribution at u in [0, 1).
func (s *softmax) sample(u float64) int {
	left := u * s.sum
	last := s.best
	for a := range s.logits {
		w := s.weight(a)
		if w == 0 {
			continue
		}
		if left < w {
			return a
		}
		left -= w
		last = a
	}
	return last // rounding left a remainder
}

func mismatch(format string, args ...any) error {
	return &fault.Error{
		Boundary: fault.Learner, Kind: fault.Invalid, What: fmt.Sprintf(format, args...),
		Hint: "use a policy that was created for this environment",
	}
}

// inRow adds to err the observation or sample in which it arose.
func inRow(err error, row int) error {
	if f := fault.As(err); f != nil {
		f.Where = fmt.Sprintf("row %d", row)
	}
	return err
}
