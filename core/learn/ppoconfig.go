package learn

import (
	"fmt"
	"math"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/learn/internal/loss"
)

// KLReference names the policy that the KL term keeps close to.
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
// mean; leave unchanged; subtract the mean and divide by the standard
// deviation.
const (
	ScaleRMS    AdvantageScale = "rms"
	ScaleNone   AdvantageScale = "none"
	ScaleWhiten AdvantageScale = "whiten"
)

// SurrogateKind is the form of the policy term.
type SurrogateKind string

// The surrogates: PPO's clipped objective, CISPO's clipped weight, and those that have no
// exported name.
const (
	SurrogateClip  SurrogateKind = "clip"
	SurrogateCISPO SurrogateKind = "cispo"

	surrogateSAPO    SurrogateKind = "sapo"
	surrogateGMPO    SurrogateKind = "gmpo"
	surrogateClipCov SurrogateKind = "clip_cov"
	surrogateKLCov   SurrogateKind = "kl_cov"
)

// RatioKind is what the probability ratio is computed for.
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

// The places: a term of the loss, or a cost that is subtracted from the
// advantages.
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
	// Epochs is how many times an update goes through the batch.
	Epochs int `yaml:"epochs" json:"epochs" jsonschema:"minimum=1,maximum=1000"`
	// Minibatch is the maximum number of rows that are computed at once. The steps
	// of an epoch have equal size (±1 row), and no row is dropped.
	Minibatch int `yaml:"minibatch" json:"minibatch" jsonschema:"minimum=1,maximum=1048576"`
	// Accumulate is the number of minibatches per optimizer step.
	Accumulate int `yaml:"accumulate" json:"accumulate" jsonschema:"minimum=1,maximum=1000"`
	// Surrogate is the policy term of the loss: clip is PPO's clipped objective;
	// cispo weights the log-probability by the clipped ratio, so that each row keeps
	// its gradient (arXiv 2506.13585); sapo fades the gradient smoothly instead of
	// clipping it (arXiv 2511.20347); gmpo clips the ratio of each step before it takes
	// their geometric mean over the sequence (arXiv 2507.20673); clip_cov and kl_cov keep
	// entropy: they leave out, or hold back, rows whose advantage and log-probability vary
	// together (arXiv 2505.22617).
	Surrogate SurrogateKind `yaml:"surrogate" json:"surrogate" jsonschema:"enum=clip,enum=cispo,enum=sapo,enum=gmpo,enum=clip_cov,enum=kl_cov"`
	// TauPositive is how fast sapo fades the gradient of a row with a positive advantage
	// as its ratio leaves 1.
	TauPositive float64 `yaml:"tau_positive" json:"tau_positive" jsonschema:"minimum=1e-6,maximum=1e6"`
	// TauNegative is the same for the other rows.
	TauNegative float64 `yaml:"tau_negative" json:"tau_negative" jsonschema:"minimum=1e-6,maximum=1e6"`
	// CovShare is the share of the rows of a minibatch that clip_cov leaves out or kl_cov
	// holds back, but at least one row.
	CovShare float64 `yaml:"cov_share" json:"cov_share" jsonschema:"exclusiveMinimum=0,maximum=1"`
	// CovLow is the covariance above which clip_cov may leave a row out.
	CovLow float64 `yaml:"cov_low" json:"cov_low" jsonschema:"minimum=-1e6,maximum=1e6"`
	// CovHigh is the covariance below which clip_cov may leave a row out.
	CovHigh float64 `yaml:"cov_high" json:"cov_high" jsonschema:"minimum=-1e6,maximum=1e6"`
	// CovKL is the weight of the distance |log ratio| of the rows that kl_cov holds back.
	CovKL float64 `yaml:"cov_kl" json:"cov_kl" jsonschema:"minimum=0,maximum=1e6"`
	// Ratio is the probability ratio of each step, or of the whole sequence (GSPO,
	// arXiv 2507.18071): the geometric mean over the steps of an episode that take
	// part in the update. With sequence, minibatches hold whole episodes and may be
	// larger by part of one.
	Ratio RatioKind `yaml:"ratio" json:"ratio" jsonschema:"enum=step,enum=sequence"`
	// ClipLow sets the lower bound 1−ClipLow of the probability ratio; 1 means no
	// lower bound.
	ClipLow float64 `yaml:"clip_low" json:"clip_low" jsonschema:"exclusiveMinimum=0,maximum=1" hint:"use a number above 0 and at most 1; 1 sets no lower bound"`
	// ClipHigh sets the upper bound 1+ClipHigh of the probability ratio.
	ClipHigh float64 `yaml:"clip_high" json:"clip_high" jsonschema:"exclusiveMinimum=0,maximum=100"`
	// DualClip bounds the loss of an action with a negative advantage at this
	// multiple of the advantage, whatever its ratio (arXiv 1912.09729). It is
	// greater than 1 (3 in the paper), or 0 for no bound.
	DualClip float64 `yaml:"dual_clip" json:"dual_clip" jsonschema:"minimum=0,maximum=1e6" hint:"use a number greater than 1, such as 3, or 0 for no bound"`
	// Entropy is the weight of the entropy bonus.
	Entropy float64 `yaml:"entropy" json:"entropy" jsonschema:"minimum=0,maximum=100"`
	// EntropySchedule changes the weight of the entropy bonus during the run.
	EntropySchedule Schedule `yaml:"entropy_schedule" json:"entropy_schedule"`
	// KLCoefficient is the weight of the KL divergence from the reference policy.
	KLCoefficient float64 `yaml:"kl_coefficient" json:"kl_coefficient" jsonschema:"minimum=0,maximum=100"`
	// KLReference is the reference policy: the initial one, or the previous one,
	// which collected the batch.
	KLReference KLReference `yaml:"kl_reference" json:"kl_reference" jsonschema:"enum=initial,enum=previous"`
	// KLEstimator estimates the divergence from a single action (Schulman 2020,
	// "Approximating KL divergence").
	KLEstimator KLEstimator `yaml:"kl_estimator" json:"kl_estimator" jsonschema:"enum=k1,enum=k2,enum=k3"`
	// KLIn is where the divergence counts: as a term of the loss, or as a cost in
	// the reward. With reward, each advantage is reduced by the divergence of its
	// step and of the later steps of the episode, relative to the mean of the batch.
	KLIn KLPlace `yaml:"kl_in" json:"kl_in" jsonschema:"enum=loss,enum=reward"`
	// KLControl adapts the coefficient after each update to keep the divergence near
	// a target.
	KLControl KLControl `yaml:"kl_control" json:"kl_control"`
	// ValueLoss is the weight of the critic's squared error ½(v−G)², if the policy
	// has a critic.
	ValueLoss float64 `yaml:"value_loss" json:"value_loss" jsonschema:"minimum=0,maximum=100"`
	// ValueClip is the largest distance of the value from the old one in PPO's
	// clipped value loss; 0 turns clipping off.
	ValueClip float64 `yaml:"value_clip" json:"value_clip" jsonschema:"minimum=0,maximum=1e6"`
	// ValueHuber is the error above which the critic's loss grows linearly instead
	// of quadratically (Huber 1964), so that outlying returns count less; 0 keeps it
	// quadratic.
	ValueHuber float64 `yaml:"value_huber" json:"value_huber" jsonschema:"minimum=0,maximum=1e6"`
	// AdvantageScale scales the advantages of the whole batch once. none leaves them
	// unchanged. rms divides by the root of their mean square, so that learning
	// rate, entropy and gradient clip mean the same for rewards of any size and any
	// number of steps with an advantage. whiten also shifts their mean to 0, which
	// makes some actions less likely even if all did well.
	AdvantageScale AdvantageScale `yaml:"advantage_scale" json:"advantage_scale" jsonschema:"enum=rms,enum=none,enum=whiten"`
	// GradClip is the maximum norm of the whole gradient; 0 means no bound.
	GradClip float64 `yaml:"grad_clip" json:"grad_clip" jsonschema:"minimum=0,maximum=1e6"`
	// LearningRate is the learning rate of Adam (Kingma and Ba 2015) before the
	// schedule is applied.
	LearningRate float64 `yaml:"learning_rate" json:"learning_rate" jsonschema:"exclusiveMinimum=0,maximum=1"`
	// Schedule changes the learning rate during the run.
	Schedule Schedule `yaml:"schedule" json:"schedule"`
	// AdamBeta1 is the decay rate of Adam's mean of the gradient.
	AdamBeta1 float64 `yaml:"adam_beta1" json:"adam_beta1" jsonschema:"minimum=0,exclusiveMaximum=1"`
	// AdamBeta2 is the decay rate of Adam's mean of the squared gradient.
	AdamBeta2 float64 `yaml:"adam_beta2" json:"adam_beta2" jsonschema:"minimum=0,exclusiveMaximum=1"`
	// AdamEpsilon keeps Adam's divisor above 0.
	AdamEpsilon float64 `yaml:"adam_epsilon" json:"adam_epsilon" jsonschema:"exclusiveMinimum=0,maximum=1"`
}

// DefaultPPOConfig returns plain PPO, with nothing that changes advantages.
func DefaultPPOConfig() PPOConfig {
	return PPOConfig{
		Epochs: 2, Minibatch: 1024, Accumulate: 1, Surrogate: SurrogateClip, Ratio: RatioStep, ClipLow: 0.2, ClipHigh: 0.2,
		TauPositive: 1, TauNegative: 1.05, CovShare: 0.0002, CovLow: 1, CovHigh: 5, CovKL: 1,
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
	p.Check(c.DualClip <= 0 || c.DualClip > 1, "dual_clip", c.DualClip, "use a number greater than 1, such as 3, or 0 for no bound")
	p.Check(c.DualClip == 0 || surrogates[c.Surrogate] == loss.Clip, "dual_clip", c.DualClip, "remove it: only surrogate: clip has this bound")
	p.Check(c.Surrogate != surrogateGMPO || c.Ratio == RatioSequence, "ratio", c.Ratio, "set ratio: sequence: gmpo takes the mean over a sequence")
	p.Check(c.Surrogate != surrogateClipCov || c.CovLow < c.CovHigh, "cov_low", c.CovLow, "use a number below cov_high")
	p.Check(c.KLIn != KLInReward || c.KLReference != ReferencePrevious, "kl_in", c.KLIn,
		"set kl_reference: initial; the divergence from the acting policy is 0 while it acts")
	p.Check(c.KLControl.Target == 0 || c.KLCoefficient > 0, "kl_control.target", c.KLControl.Target,
		"set kl_coefficient to the initial value, or remove the target")
	return p
}

// maxKLCoefficient is the largest kl_coefficient, set or controlled, and
// minKLCoefficient the smallest that a controller leaves: it could not rise again
// from 0, and a state with 0 has no controller.
const (
	maxKLCoefficient = 100
	minKLCoefficient = 1e-12
)

// KLControl is the proportional controller of Ziegler et al. 2019 (arXiv
// 1909.08593): after an update with divergence d the coefficient is multiplied
// by 1 + Rate·e, where e = d/Target − 1 within ±0.2. The divergence is the mean
// over rows of estimator k3, in nats a step.
type KLControl struct {
	// Target is the divergence to keep near, in nats per step; 0 keeps the
	// coefficient constant.
	Target float64 `yaml:"target" json:"target" jsonschema:"minimum=0,maximum=1e6"`
	// Rate is how strongly the coefficient reacts to the divergence.
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
	// Kind is the form of the schedule: constant, or falling to Final linearly or
	// along a cosine.
	Kind ScheduleKind `yaml:"kind" json:"kind" jsonschema:"enum=constant,enum=linear,enum=cosine"`
	// WarmUp is the number of updates over which the value rises linearly to
	// its full size.
	WarmUp int `yaml:"warmup" json:"warmup" jsonschema:"minimum=0" hint:"use a number of updates, or 0 for none"`
	// Updates is the length of the whole schedule, including the warm-up; linear and
	// cosine need it. 0 uses the number of iterations of the training run.
	Updates int `yaml:"updates" json:"updates" jsonschema:"minimum=0" hint:"use the number of updates of the whole run, or 0 for train.iterations"`
	// Final is the share of the full value that linear and cosine reach at the end
	// and keep from then on.
	Final float64 `yaml:"final" json:"final" jsonschema:"minimum=0,maximum=1"`
}

// Validate returns every problem of s, with key paths relative to the section.
func (s Schedule) Validate() []error {
	p := fault.Validate(&s)
	p.Check(s.Updates <= 0 || s.Updates > s.WarmUp, "updates", s.Updates, "use a number greater than warmup")
	return p
}

// Over returns s with a length: the given number of updates, if s has none.
func (s Schedule) Over(updates int) Schedule {
	if s.Updates == 0 {
		s.Updates = max(updates, s.WarmUp+1)
	}
	return s
}

// length returns an error if a falling schedule has no length.
func (s Schedule) length(key string) error {
	if s.Kind == ScheduleConstant || s.Updates > 0 {
		return nil
	}
	return &fault.Error{
		Boundary: fault.Config, Kind: fault.Missing, Where: key + ".updates",
		What: fmt.Sprintf("is missing, and the %s schedule needs it", s.Kind), Hint: "set it to the number of updates in the whole run",
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
