package learn

import (
	"math"

	"github.com/merit-rl/merit/core/fault"
)

// KLReference names the policy that the KL term holds on to.
type KLReference string

// The references: the parameters the learner began with, or those that
// collected the batch.
const (
	ReferenceInitial  KLReference = "initial"
	ReferencePrevious KLReference = "previous"
)

// AdvantageScale says how the advantages of a batch are scaled.
type AdvantageScale string

// The scales: divide by the root of the mean square, without shifting the
// mean; leave as they are; subtract the mean and divide by the standard
// deviation.
const (
	ScaleRMS    AdvantageScale = "rms"
	ScaleNone   AdvantageScale = "none"
	ScaleWhiten AdvantageScale = "whiten"
)

// ScheduleKind is the course of the learning rate.
type ScheduleKind string

// The courses.
const (
	ScheduleConstant ScheduleKind = "constant"
	ScheduleLinear   ScheduleKind = "linear"
	ScheduleCosine   ScheduleKind = "cosine"
)

// PPOConfig describes the learner (Schulman et al. 2017, arXiv 1707.06347).
type PPOConfig struct {
	// Epochs is how often a batch is gone through, Minibatch the most rows
	// behind one optimiser step. An epoch is cut into minibatches of equal
	// size (±1 row); no row is dropped.
	Epochs    int `yaml:"epochs" json:"epochs"`
	Minibatch int `yaml:"minibatch" json:"minibatch"`
	// The probability ratio is clipped to [1−ClipLow, 1+ClipHigh].
	ClipLow  float64 `yaml:"clip_low" json:"clip_low"`
	ClipHigh float64 `yaml:"clip_high" json:"clip_high"`
	// Entropy weighs the entropy bonus.
	Entropy float64 `yaml:"entropy" json:"entropy"`
	// KLCoefficient weighs the divergence from the policy that KLReference
	// names (estimator k3 of Schulman 2020, "Approximating KL divergence").
	KLCoefficient float64     `yaml:"kl_coefficient" json:"kl_coefficient"`
	KLReference   KLReference `yaml:"kl_reference" json:"kl_reference"`
	// ValueLoss weighs the squared error ½(v−G)² of the critic, if the policy
	// has one. ValueClip keeps the value within that distance of the old one
	// in the sense of PPO's clipped value loss; 0 = no clipping.
	ValueLoss float64 `yaml:"value_loss" json:"value_loss"`
	ValueClip float64 `yaml:"value_clip" json:"value_clip"`
	// AdvantageScale is applied once to the whole batch.
	AdvantageScale AdvantageScale `yaml:"advantage_scale" json:"advantage_scale"`
	// GradClip bounds the norm of the whole gradient; 0 = unbounded.
	GradClip float64 `yaml:"grad_clip" json:"grad_clip"`
	// LearningRate is Adam's (Kingma and Ba 2015), before the schedule.
	LearningRate float64  `yaml:"learning_rate" json:"learning_rate"`
	Schedule     Schedule `yaml:"schedule" json:"schedule"`
	// AdamBeta1 and AdamBeta2 are how slowly Adam forgets the mean of the
	// gradient and that of its square; AdamEpsilon keeps its divisor from 0.
	AdamBeta1   float64 `yaml:"adam_beta1" json:"adam_beta1"`
	AdamBeta2   float64 `yaml:"adam_beta2" json:"adam_beta2"`
	AdamEpsilon float64 `yaml:"adam_epsilon" json:"adam_epsilon"`
}

// DefaultPPOConfig returns the settings of the quickstart.
func DefaultPPOConfig() PPOConfig {
	return PPOConfig{
		Epochs: 2, Minibatch: 1024, ClipLow: 0.2, ClipHigh: 0.2, Entropy: 0.01,
		KLReference: ReferencePrevious, ValueLoss: 0.5, AdvantageScale: ScaleRMS, GradClip: 0.5,
		LearningRate: 5e-3, Schedule: Schedule{Kind: ScheduleConstant},
		AdamBeta1: 0.9, AdamBeta2: 0.999, AdamEpsilon: 1e-8,
	}
}

// Validate returns every problem of c, with key paths relative to the stage.
func (c PPOConfig) Validate() []error {
	var p fault.Problems
	p.Whole("epochs", c.Epochs, 1, 1000)
	p.Whole("minibatch", c.Minibatch, 1, 1<<20)
	p.Check(c.ClipLow > 0 && c.ClipLow < 1, "clip_low", c.ClipLow, "use a number above 0 and below 1")
	p.Check(c.ClipHigh > 0 && c.ClipHigh <= 100, "clip_high", c.ClipHigh, "use a number above 0, at most 100")
	p.Within("entropy", c.Entropy, 0, 100)
	p.Within("kl_coefficient", c.KLCoefficient, 0, 100)
	p.OneOf("kl_reference", string(c.KLReference), string(ReferenceInitial), string(ReferencePrevious))
	p.Within("value_loss", c.ValueLoss, 0, 100)
	p.Within("value_clip", c.ValueClip, 0, 1e6)
	p.OneOf("advantage_scale", string(c.AdvantageScale), string(ScaleRMS), string(ScaleNone), string(ScaleWhiten))
	p.Within("grad_clip", c.GradClip, 0, 1e6)
	p.Check(c.LearningRate > 0 && c.LearningRate <= 1, "learning_rate", c.LearningRate, "use a number above 0, at most 1")
	c.Schedule.validate(&p)
	p.Check(c.AdamBeta1 >= 0 && c.AdamBeta1 < 1, "adam_beta1", c.AdamBeta1, "use a number from 0 to below 1")
	p.Check(c.AdamBeta2 >= 0 && c.AdamBeta2 < 1, "adam_beta2", c.AdamBeta2, "use a number from 0 to below 1")
	p.Check(c.AdamEpsilon > 0 && c.AdamEpsilon <= 1, "adam_epsilon", c.AdamEpsilon, "use a number above 0, at most 1")
	return p
}

// Schedule is the course of the learning rate over the updates of a run. One
// update is one call of Learner.Update, whatever its minibatches.
type Schedule struct {
	// Kind is the form of the course: constant, or falling to Final.
	Kind ScheduleKind `yaml:"kind" json:"kind"`
	// WarmUp is the number of updates over which the rate rises linearly to
	// its full value.
	WarmUp int `yaml:"warmup" json:"warmup"`
	// Updates is the length of the whole course with its warm-up; linear and
	// cosine need it. 0 lets the training loop put its number of iterations.
	Updates int `yaml:"updates" json:"updates"`
	// Final is the share of the full rate that linear and cosine end at, and
	// keep beyond the end.
	Final float64 `yaml:"final" json:"final"`
}

func (s Schedule) validate(p *fault.Problems) {
	p.OneOf("schedule.kind", string(s.Kind), string(ScheduleConstant), string(ScheduleLinear), string(ScheduleCosine))
	p.Check(s.WarmUp >= 0, "schedule.warmup", s.WarmUp, "use a number of updates, or 0 for none")
	p.Check(s.Updates >= 0, "schedule.updates", s.Updates, "use the number of updates of the whole run, or 0 for train.iterations")
	p.Check(s.Updates == 0 || s.Updates > s.WarmUp, "schedule.updates", s.Updates, "use a number above schedule.warmup")
	p.Within("schedule.final", s.Final, 0, 1)
}

// Factor returns what the learning rate of the given update, counted from 0,
// is multiplied by.
func (s Schedule) Factor(update uint64) float64 {
	if update < uint64(s.WarmUp) {
		return float64(update+1) / float64(s.WarmUp)
	}
	if s.Kind == ScheduleConstant {
		return 1
	}
	done := min(1, float64(update-uint64(s.WarmUp))/float64(max(1, s.Updates-s.WarmUp)))
	if s.Kind == ScheduleCosine {
		done = (1 - math.Cos(math.Pi*done)) / 2
	}
	return 1 + (s.Final-1)*done
}
