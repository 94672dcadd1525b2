package monitor

import (
	"slices"
	"strings"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/run"
)

// Action is how a run reacts to an alarm.
type Action string

// The actions: log the alarm; end the run with its best checkpoint; slow the
// learner down where that helps. Warnings are only logged.
const (
	OnAlarmWarn  Action = "warn"
	OnAlarmStop  Action = "stop"
	OnAlarmAdapt Action = "adapt"
)

// Config is the monitor section: what is watched, and what is done about it.
type Config struct {
	// OnAlarm is what happens on an alarm: warn logs it; stop ends the run with its
	// best checkpoint; adapt halves the learning rate and the clip range if training
	// is unstable. Warnings are only logged.
	OnAlarm Action `yaml:"on_alarm" json:"on_alarm" resume:"free" jsonschema:"enum=warn,enum=stop,enum=adapt"`
	// Off lists the red flags to turn off, by name; all turns monitoring off.
	Off []string `yaml:"off" json:"off" resume:"free"`
	// Watch lists metrics that must not fall while the score rises: env_reward,
	// words, distinct, different, success (of validations), or one of the
	// environment's metrics. A minus sign in front means that lower is better:
	// -side_effects.
	Watch []string `yaml:"watch" json:"watch"`
	// Window is how many iterations a trend averages over.
	Window int `yaml:"window" json:"window" jsonschema:"minimum=2,maximum=1000"`
	// Repeat is the number of iterations after which a continuing alarm is logged
	// again.
	Repeat int `yaml:"repeat" json:"repeat" jsonschema:"minimum=1"`
	// Solved is the success rate above which a run need not improve further.
	Solved float64 `yaml:"solved" json:"solved" jsonschema:"minimum=0,maximum=1"`
	// Thresholds are the values above which a measurement is a red flag.
	Thresholds Thresholds `yaml:"thresholds" json:"thresholds"`
}

// Thresholds say from where on a measurement is a red flag.
type Thresholds struct {
	// RewardFlat is the number of iterations within which the score must change.
	RewardFlat int `yaml:"reward_flat" json:"reward_flat" jsonschema:"minimum=2"`
	// Plateau is the number of iterations that the score may go without a better
	// mean.
	Plateau int `yaml:"plateau" json:"plateau" jsonschema:"minimum=2"`
	// Oscillation is the size of a swing of the score, as a share of the score's
	// range in the run.
	Oscillation float64 `yaml:"oscillation" json:"oscillation" jsonschema:"exclusiveMinimum=0,maximum=1e6" hint:"use a number above 0, or name the flag in monitor.off"`
	// KLWarn is the divergence of one update that causes a warning, in nats.
	KLWarn float64 `yaml:"kl_warn" json:"kl_warn" jsonschema:"exclusiveMinimum=0,maximum=1e6" hint:"use a number above 0, or name the flag in monitor.off"`
	// KLAlarm is the divergence of one update that causes an alarm, in nats.
	KLAlarm float64 `yaml:"kl_alarm" json:"kl_alarm" jsonschema:"exclusiveMinimum=0,maximum=1e6" hint:"use a number above 0, or name the flag in monitor.off"`
	// EntropyCollapse is the entropy below which it has collapsed, as a share of the
	// entropy of the first iterations.
	EntropyCollapse float64 `yaml:"entropy_collapse" json:"entropy_collapse" jsonschema:"exclusiveMinimum=0,maximum=1e6" hint:"use a number above 0, or name the flag in monitor.off"`
	// ValueLoss is the ratio of the critic's loss, relative to the scores, to its
	// lowest value so far.
	ValueLoss float64 `yaml:"value_loss" json:"value_loss" jsonschema:"exclusiveMinimum=0,maximum=1e6" hint:"use a number above 0, or name the flag in monitor.off"`
	// GradientExplosion is the ratio of the gradient norm to the median of the
	// earlier norms.
	GradientExplosion float64 `yaml:"gradient_explosion" json:"gradient_explosion" jsonschema:"exclusiveMinimum=0,maximum=1e6" hint:"use a number above 0, or name the flag in monitor.off"`
	// NoVariance is the share of groups whose members all have the same score.
	NoVariance float64 `yaml:"no_variance" json:"no_variance" jsonschema:"exclusiveMinimum=0,maximum=1e6" hint:"use a number above 0, or name the flag in monitor.off"`
	// SingletonAnchors is the share of steps that are alone in their anchor group.
	SingletonAnchors float64 `yaml:"singleton_anchors" json:"singleton_anchors" jsonschema:"exclusiveMinimum=0,maximum=1e6" hint:"use a number above 0, or name the flag in monitor.off"`
	// HeldOutGap is how far the success of validations is below that of training.
	HeldOutGap float64 `yaml:"held_out_gap" json:"held_out_gap" jsonschema:"exclusiveMinimum=0,maximum=1e6" hint:"use a number above 0, or name the flag in monitor.off"`
	// UnscoredWarn is the share of episodes without a score that causes a warning.
	UnscoredWarn float64 `yaml:"unscored_warn" json:"unscored_warn" jsonschema:"exclusiveMinimum=0,maximum=1e6" hint:"use a number above 0, or name the flag in monitor.off"`
	// UnscoredAlarm is the share of episodes without a score that causes an alarm.
	UnscoredAlarm float64 `yaml:"unscored_alarm" json:"unscored_alarm" jsonschema:"exclusiveMinimum=0,maximum=1e6" hint:"use a number above 0, or name the flag in monitor.off"`
	// RewardJump is a rise of the score within three iterations, in standard
	// deviations of the episode scores.
	RewardJump float64 `yaml:"reward_jump" json:"reward_jump" jsonschema:"exclusiveMinimum=0,maximum=1e6" hint:"use a number above 0, or name the flag in monitor.off"`
	// PerfectScores is the share of episodes with the highest score.
	PerfectScores float64 `yaml:"perfect_scores" json:"perfect_scores" jsonschema:"exclusiveMinimum=0,maximum=1e6" hint:"use a number above 0, or name the flag in monitor.off"`
	// Repetition is the rise of the share of an output's word pairs that repeat an
	// earlier one.
	Repetition float64 `yaml:"repetition" json:"repetition" jsonschema:"exclusiveMinimum=0,maximum=1e6" hint:"use a number above 0, or name the flag in monitor.off"`
	// LostDiversity is the share of distinct outputs in a group, relative to its
	// earlier value.
	LostDiversity float64 `yaml:"lost_diversity" json:"lost_diversity" jsonschema:"exclusiveMinimum=0,maximum=1e6" hint:"use a number above 0, or name the flag in monitor.off"`
	// Length is the factor by which outputs grow or shrink while the score rises.
	Length float64 `yaml:"length" json:"length" jsonschema:"exclusiveMinimum=0,maximum=1e6" hint:"use a number above 0, or name the flag in monitor.off"`
	// Divergence is how far a metric in Watch falls, as a share of its best value.
	Divergence float64 `yaml:"divergence" json:"divergence" jsonschema:"exclusiveMinimum=0,maximum=1e6" hint:"use a number above 0, or name the flag in monitor.off"`
}

// Default returns the thresholds that ten healthy runs of the examples stay
// below (testdata/README.md).
func Default() Config {
	return Config{
		OnAlarm: OnAlarmWarn, Watch: []string{"env_reward", "success", "solved"}, Window: 10, Repeat: 20, Solved: 0.8,
		Thresholds: Thresholds{
			RewardFlat: 30, Plateau: 100, Oscillation: 0.3, KLWarn: 0.1, KLAlarm: 0.5, EntropyCollapse: 0.1, ValueLoss: 3,
			GradientExplosion: 10, NoVariance: 0.98, SingletonAnchors: 0.95, HeldOutGap: 0.15, UnscoredWarn: 0.05, UnscoredAlarm: 0.25,
			RewardJump: 1, PerfectScores: 0.98, Repetition: 0.3, LostDiversity: 0.3, Length: 3, Divergence: 0.3,
		},
	}
}

// all in Config.Off turns every flag off.
const all = "all"

// Validate returns every problem of c.
func (c Config) Validate() []error {
	p := fault.Validate(&c)
	for _, name := range c.Off {
		p.OneOf("off", name, append(checkNames(), all)...)
	}
	for _, name := range c.Watch {
		p.Check(strings.TrimPrefix(name, "-") != "", "watch", name, "write the name of a metric, with a minus sign in front if lower is better")
	}
	return p
}

// For returns c without the flags that do not apply to the way credit is assigned:
// if steps with the same anchor, or the members of a group, are not compared.
func (c Config) For(anchors, groups bool) Config {
	c.Off = slices.Clone(c.Off)
	if !anchors {
		c.Off = append(c.Off, "singleton_anchors")
	}
	if !groups {
		c.Off = append(c.Off, "no_variance")
	}
	return c
}

// played are the flags about the policy's behavior in training episodes. They do
// not apply if another policy played the episodes.
var played = []string{
	"held_out_gap", "divergence", "reward_jump", "perfect_scores", "repetition", "lost_diversity", "length",
	"entropy_collapse", "reward_flat", "plateau", "oscillation",
}

// ForRecorded returns c without the flags about the policy's behavior in training,
// for a run that learns from recorded episodes of others.
func (c Config) ForRecorded() Config {
	c.Off = append(slices.Clone(c.Off), played...)
	return c
}

// adapted is the caution that follows another alarm of an unstable training:
// half the learning rate, down to a sixteenth; half the clip, once.
func adapted(c run.Caution) run.Caution {
	if c == (run.Caution{}) {
		c = run.Caution{Rate: 1, Clip: 1}
	}
	return run.Caution{Rate: max(c.Rate/2, 1.0/16), Clip: max(c.Clip/2, 0.5)}
}
