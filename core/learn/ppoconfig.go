package learn

import (
	"fmt"
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

// SurrogateKind is the form of the policy term.
type SurrogateKind string

// The surrogates: PPO's clipped objective, and CISPO's clipped weight.
const (
	SurrogateClip  SurrogateKind = "clip"
	SurrogateCISPO SurrogateKind = "cispo"
)

// RatioKind says of what the probability ratio is.
type RatioKind string

// The ratios: each step's own, or the geometric mean over the steps of its
// episode.
const (
	RatioStep     RatioKind = "step"
	RatioSequence RatioKind = "sequence"
)

// KLEstimator estimates the divergence from one action.
type KLEstimator string

// The estimators of Schulman 2020, "Approximating KL divergence".
const (
	KLK1 KLEstimator = "k1"
	KLK2 KLEstimator = "k2"
	KLK3 KLEstimator = "k3"
)

// KLPlace says where the divergence counts.
type KLPlace string

// The places: a term of the loss, or a cost that is taken from the advantages.
const (
	KLInLoss   KLPlace = "loss"
	KLInReward KLPlace = "reward"
)

// ScheduleKind is the course of a learning rate or coefficient.
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
	// that are computed at one time, Accumulate how many minibatches are
	// behind one optimiser step. An epoch is cut into steps of equal size (±1
	// row); no row is dropped.
	Epochs     int `yaml:"epochs" json:"epochs" jsonschema:"minimum=1,maximum=1000"`
	Minibatch  int `yaml:"minibatch" json:"minibatch" jsonschema:"minimum=1,maximum=1048576"`
	Accumulate int `yaml:"accumulate" json:"accumulate" jsonschema:"minimum=1,maximum=1000"`
	// Surrogate is the policy term: clip is PPO's, cispo weighs the
	// log-probability by the clipped ratio, so that no row loses its gradient
	// (arXiv 2506.13585).
	Surrogate SurrogateKind `yaml:"surrogate" json:"surrogate" jsonschema:"enum=clip,enum=cispo"`
	// Ratio says of what the ratio of probabilities is: of the step, or of
	// the sequence (GSPO, arXiv 2507.18071), the geometric mean over the
	// steps of an episode that take part; minibatches then hold whole
	// episodes and may be larger by part of one.
	Ratio RatioKind `yaml:"ratio" json:"ratio" jsonschema:"enum=step,enum=sequence"`
	// The probability ratio is clipped to [1−ClipLow, 1+ClipHigh].
	ClipLow  float64 `yaml:"clip_low" json:"clip_low" jsonschema:"exclusiveMinimum=0,maximum=1" hint:"use a number above 0 and at most 1; 1 sets no lower bound"`
	ClipHigh float64 `yaml:"clip_high" json:"clip_high" jsonschema:"exclusiveMinimum=0,maximum=100"`
	// DualClip bounds the loss of an action with a negative advantage at that
	// many times the advantage, whatever its ratio (arXiv 1912.09729); a
	// number above 1, 3 in the paper, or 0 for no bound.
	DualClip float64 `yaml:"dual_clip" json:"dual_clip" jsonschema:"minimum=0,maximum=1e6" hint:"use a number above 1, such as 3, or 0 for no bound"`
	// Entropy weighs the entropy bonus, EntropySchedule is its course.
	Entropy         float64  `yaml:"entropy" json:"entropy" jsonschema:"minimum=0,maximum=100"`
	EntropySchedule Schedule `yaml:"entropy_schedule" json:"entropy_schedule"`
	// KLCoefficient weighs the divergence from the policy that KLReference
	// names, estimated by KLEstimator (Schulman 2020, "Approximating KL
	// divergence").
	KLCoefficient float64     `yaml:"kl_coefficient" json:"kl_coefficient" jsonschema:"minimum=0,maximum=100"`
	KLReference   KLReference `yaml:"kl_reference" json:"kl_reference" jsonschema:"enum=initial,enum=previous"`
	KLEstimator   KLEstimator `yaml:"kl_estimator" json:"kl_estimator" jsonschema:"enum=k1,enum=k2,enum=k3"`
	// KLIn says where the divergence counts: in the loss, or in the reward,
	// which takes from each advantage what the divergence of its step and of
	// the steps after it in the episode is above the batch's mean.
	KLIn KLPlace `yaml:"kl_in" json:"kl_in" jsonschema:"enum=loss,enum=reward"`
	// KLControl changes the coefficient after each update so that the
	// divergence stays near a target.
	KLControl KLControl `yaml:"kl_control" json:"kl_control"`
	// ValueLoss weighs the squared error ½(v−G)² of the critic, if the policy
	// has one. ValueClip keeps the value within that distance of the old one
	// in the sense of PPO's clipped value loss; 0 = no clipping.
	ValueLoss float64 `yaml:"value_loss" json:"value_loss" jsonschema:"minimum=0,maximum=100"`
	ValueClip float64 `yaml:"value_clip" json:"value_clip" jsonschema:"minimum=0,maximum=1e6"`
	// ValueHuber is the distance from which on the critic's loss grows as a
	// straight line (Huber 1964), so that single returns far away count less;
	// 0 = it is squared everywhere.
	ValueHuber float64 `yaml:"value_huber" json:"value_huber" jsonschema:"minimum=0,maximum=1e6"`
	// AdvantageScale is applied once to the whole batch: none leaves the
	// advantages as the estimator made them; rms divides by the root of their
	// mean square, so that learning rate, entropy and gradient clip mean the
	// same whatever the size of rewards and however few steps have an
	// advantage; whiten also shifts their mean to 0, so that a share of the
	// actions is made less likely even where all did well.
	AdvantageScale AdvantageScale `yaml:"advantage_scale" json:"advantage_scale" jsonschema:"enum=rms,enum=none,enum=whiten"`
	// GradClip bounds the norm of the whole gradient; 0 = unbounded.
	GradClip float64 `yaml:"grad_clip" json:"grad_clip" jsonschema:"minimum=0,maximum=1e6"`
	// LearningRate is Adam's (Kingma and Ba 2015), before the schedule.
	LearningRate float64  `yaml:"learning_rate" json:"learning_rate" jsonschema:"exclusiveMinimum=0,maximum=1"`
	Schedule     Schedule `yaml:"schedule" json:"schedule"`
	// AdamBeta1 and AdamBeta2 are how slowly Adam forgets the mean of the
	// gradient and that of its square; AdamEpsilon keeps its divisor from 0.
	AdamBeta1   float64 `yaml:"adam_beta1" json:"adam_beta1" jsonschema:"minimum=0,exclusiveMaximum=1"`
	AdamBeta2   float64 `yaml:"adam_beta2" json:"adam_beta2" jsonschema:"minimum=0,exclusiveMaximum=1"`
	AdamEpsilon float64 `yaml:"adam_epsilon" json:"adam_epsilon" jsonschema:"exclusiveMinimum=0,maximum=1"`
}

// DefaultPPOConfig returns plain PPO, with nothing that changes advantages.
func DefaultPPOConfig() PPOConfig {
	return PPOConfig{
		Epochs: 2, Minibatch: 1024, Accumulate: 1, Surrogate: SurrogateClip, Ratio: RatioStep, ClipLow: 0.2, ClipHigh: 0.2,
		Entropy: 0.01, EntropySchedule: Schedule{Kind: ScheduleConstant},
		KLReference: ReferencePrevious, KLEstimator: KLK3, KLIn: KLInLoss, KLControl: KLControl{Rate: 0.1},
		ValueLoss: 0.5, AdvantageScale: ScaleNone, GradClip: 0.5,
		LearningRate: 5e-3, Schedule: Schedule{Kind: ScheduleConstant},
		AdamBeta1: 0.9, AdamBeta2: 0.999, AdamEpsilon: 1e-8,
	}
}

// Validate returns every problem of c, with key paths relative to the stage.
func (c PPOConfig) Validate() []error {
	p := fault.Validate(&c)
	p.Check(c.DualClip <= 0 || c.DualClip > 1, "dual_clip", c.DualClip, "use a number above 1, such as 3, or 0 for no bound")
	p.Check(c.DualClip == 0 || c.Surrogate != SurrogateCISPO, "dual_clip", c.DualClip, "remove it: cispo bounds the ratio of every row already")
	p.Check(c.KLIn != KLInReward || c.KLReference != ReferencePrevious, "kl_in", c.KLIn,
		"set kl_reference: initial: from the policy that acted there is no divergence when it acts")
	p.Check(c.KLControl.Target == 0 || c.KLCoefficient > 0, "kl_control.target", c.KLControl.Target,
		"give kl_coefficient the value to begin with, or remove the target")
	return p
}

// maxKLCoefficient is the largest kl_coefficient, set or controlled, and
// minKLCoefficient the smallest that a controller leaves: from 0 it could not
// come back, and a state of 0 is one that knows no controller.
const (
	maxKLCoefficient = 100
	minKLCoefficient = 1e-12
)

// KLControl is the proportional controller of Ziegler et al. 2019 (arXiv
// 1909.08593): after an update with divergence d the coefficient is multiplied
// by 1 + Rate·e, where e = d/Target − 1 within ±0.2. The divergence is the mean
// over rows of estimator k3, in nats a step.
type KLControl struct {
	// Target is the divergence to stay near; 0 = the coefficient is constant.
	Target float64 `yaml:"target" json:"target" jsonschema:"minimum=0,maximum=1e6"`
	// Rate is how strongly the coefficient follows.
	Rate float64 `yaml:"rate" json:"rate" jsonschema:"exclusiveMinimum=0,maximum=1"`
}

// Next returns the coefficient after an update with that divergence.
func (c KLControl) Next(coefficient, divergence float64) float64 {
	if c.Target == 0 {
		return coefficient
	}
	miss := min(max(divergence/c.Target-1, -0.2), 0.2)
	return min(max(coefficient*(1+c.Rate*miss), minKLCoefficient), maxKLCoefficient)
}

// Schedule is the course of the learning rate, or of a coefficient, over the
// updates of a run. One update is one call of Learner.Update, whatever its
// minibatches.
type Schedule struct {
	// Kind is the form of the course: constant, or falling to Final.
	Kind ScheduleKind `yaml:"kind" json:"kind" jsonschema:"enum=constant,enum=linear,enum=cosine"`
	// WarmUp is the number of updates over which the value rises linearly to
	// the full one.
	WarmUp int `yaml:"warmup" json:"warmup" jsonschema:"minimum=0" hint:"use a number of updates, or 0 for none"`
	// Updates is the length of the whole course with its warm-up; linear and
	// cosine need it. 0 lets the training loop put its number of iterations.
	Updates int `yaml:"updates" json:"updates" jsonschema:"minimum=0" hint:"use the number of updates of the whole run, or 0 for train.iterations"`
	// Final is the share of the full value that linear and cosine end at, and
	// keep beyond the end.
	Final float64 `yaml:"final" json:"final" jsonschema:"minimum=0,maximum=1"`
}

// Validate returns every problem of s, with key paths relative to the section.
func (s Schedule) Validate() []error {
	p := fault.Validate(&s)
	p.Check(s.Updates <= 0 || s.Updates > s.WarmUp, "updates", s.Updates, "use a number above warmup")
	return p
}

// Over returns s with a length: the given number of updates, if s has none.
func (s Schedule) Over(updates int) Schedule {
	if s.Updates == 0 {
		s.Updates = max(updates, s.WarmUp+1)
	}
	return s
}

// length is an error if a falling schedule has no length.
func (s Schedule) length(key string) error {
	if s.Kind == ScheduleConstant || s.Updates > 0 {
		return nil
	}
	return &fault.Error{
		Boundary: fault.Config, Kind: fault.Missing, Where: key + ".updates",
		What: fmt.Sprintf("the %s schedule has no length", s.Kind), Hint: "give the number of updates of the whole run",
	}
}

// Factor returns what the full value is multiplied by in the given update,
// counted from 0.
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
