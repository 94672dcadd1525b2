package run

import "github.com/merit-rl/merit/internal/base/sampling"

// Iteration is one line of metrics.jsonl. Iteration 0 is the untrained policy:
// it has a validation and nothing else.
type Iteration struct {
	Iteration int            `json:"iteration"` // number of the iteration; 0 is the untrained policy
	EnvSteps  uint64         `json:"env_steps"` // steps of training in the environment since the run began
	Episodes  uint64         `json:"episodes"`  // episodes of training since the run began
	Rollout   *Rollout       `json:"rollout,omitempty"`
	Outcomes  map[string]int `json:"outcomes,omitempty"` // trajectories with this outcome (reward.Outcome)
	// Sampling describes the tasks, if train.sampling draws them from a set.
	Sampling   *sampling.Metrics `json:"sampling,omitempty"`
	Advantage  *Advantage        `json:"advantage,omitempty"`
	Update     *Update           `json:"update,omitempty"`
	Outputs    *Outputs          `json:"outputs,omitempty"`
	OffPolicy  *OffPolicy        `json:"off_policy,omitempty"` // of runs that learn from traces
	Validation *Score            `json:"validation,omitempty"`
	Best       bool              `json:"best,omitempty"`    // 1 if this is the best validation so far
	Alarms     []Alarm           `json:"alarms,omitempty"`  // alarms of core/monitor
	Adapted    *Caution          `json:"adapted,omitempty"` // applies from the next iteration on, if an alarm changed it
	Saved      *Frame            `json:"saved,omitempty"`
	Cost       Cost              `json:"cost,omitzero"` // what it used besides time
	Time       Time              `json:"time"`
}

// Level is the urgency of an alarm.
type Level string

// The levels: look at it, and act on it.
const (
	Warn  Level = "warn"
	Alert Level = "alarm"
)

// Alarm is a red flag that core/monitor raised at an iteration.
type Alarm struct {
	Name      string  `json:"name"`
	Level     Level   `json:"level"`
	Value     float64 `json:"value"`     // what the red flag measured
	Threshold float64 `json:"threshold"` // threshold that the value crossed
	Iteration int     `json:"iteration"` // iteration that raised the red flag
	Evidence  string  `json:"evidence"`  // the measurement in words
	Advice    string  `json:"advice"`
	// Trajectories are the ids of those to read first, the most suspicious one
	// first; they are kept with the run.
	Trajectories []string `json:"trajectories,omitempty"`
}

// Caution is how much alarms have slowed the learner down: factors of its learning
// rate and of the width of its clip.
type Caution struct {
	Rate float64 `json:"rate"` // factor of the learning rate
	Clip float64 `json:"clip"` // factor of the clip's width
}

// Outputs describes the behavior and output of the scored episodes of an
// iteration, which the monitor compares with the reward.
type Outputs struct {
	Groups     int     `json:"groups"`      // groups with a scored episode
	Score      float64 `json:"score"`       // mean score of the episodes
	ScoreStd   float64 `json:"score_std"`   // standard deviation of the score over episodes
	ScoreError float64 `json:"score_error"` // standard error of the mean score; groups are the units
	Top        float64 `json:"top"`         // share of episodes with the highest score
	EnvReward  float64 `json:"env_reward"`  // mean sum of the environment's own rewards
	Revisits   float64 `json:"revisits"`    // share of steps in a state that the episode had visited before

	// For policies that write text; 0 for others.
	Words     float64 `json:"words,omitempty"`     // mean words of an episode
	Distinct  float64 `json:"distinct,omitempty"`  // mean share of distinct pairs among an episode's consecutive words
	Different float64 `json:"different,omitempty"` // mean share of distinct outputs in a group

	Metrics map[string]float64 `json:"metrics,omitempty"` // mean of what the environment or the reward measured
}

// OffPolicy measures how far the learning policy is from the policy that decided,
// over the decisions that an iteration learned from.
type OffPolicy struct {
	Decisions int     `json:"decisions"` // decisions that the iteration learned from
	Weight    float64 `json:"weight"`    // mean weight that the method multiplies by
	Effective float64 `json:"effective"` // effective share of decisions under the weights: (Σw)² ÷ (n Σw²)
	Bounded   float64 `json:"bounded"`   // share of decisions whose weight was clipped
}

// Rollout describes the episodes an iteration learned from; unscored, resampled and
// stale ones count in Discarded only.
type Rollout struct {
	Success   float64        `json:"success"`             // share of scored episodes that succeeded
	Return    float64        `json:"return"`              // mean sum of base rewards of an episode
	Length    float64        `json:"length"`              // mean steps of an episode
	Episodes  int            `json:"episodes"`            // scored episodes
	Steps     int            `json:"steps"`               // steps of the scored episodes; those that branches share count once
	Stops     map[string]int `json:"stops"`               // trajectories with this reason to stop (rl.StopReason)
	Invalid   float64        `json:"invalid_actions"`     // share of steps with an invalid action
	Discarded int            `json:"discarded,omitempty"` // episodes that were unscored, resampled away or dropped as stale
	Branches  int            `json:"branches,omitempty"`  // scored episodes that left others; none of the figures above but steps, invalid_actions and discarded include them

	// Of the groups that were dropped because the weights that decided a step were too
	// old to learn from. Short and long, low and high are relative to the means of all
	// played episodes.

	Stale         int     `json:"stale,omitempty"`          // steps of the groups that were dropped as stale
	StaleGroups   int     `json:"stale_groups,omitempty"`   // groups that were dropped as stale
	StaleEpisodes int     `json:"stale_episodes,omitempty"` // episodes of these groups
	StaleLength   float64 `json:"stale_length,omitempty"`   // mean steps of a stale episode
	StaleScore    float64 `json:"stale_score,omitempty"`    // mean score of a stale episode
	StaleShort    float64 `json:"stale_short,omitempty"`    // share dropped of the episodes of at most mean length
	StaleLong     float64 `json:"stale_long,omitempty"`     // share dropped of the longer episodes
	StaleLow      float64 `json:"stale_low,omitempty"`      // share dropped of the episodes of at most mean score
	StaleHigh     float64 `json:"stale_high,omitempty"`     // share dropped of the episodes with a higher score
}

// Advantage describes the credit an iteration assigned.
type Advantage struct {
	Mean             float64 `json:"mean"`               // mean advantage of a step
	Std              float64 `json:"std"`                // standard deviation of the advantages of steps
	AnchorGroups     int     `json:"anchor_groups"`      // groups of steps in the same state
	AnchorSize       float64 `json:"anchor_size"`        // mean steps in an anchor group
	SingletonShare   float64 `json:"singleton_share"`    // share of steps that are alone in their anchor group
	StepShare        float64 `json:"step_share"`         // share of steps whose step advantage (A_S) is not 0
	ZeroVarianceRate float64 `json:"zero_variance_rate"` // share of groups whose members all have the same score
	// Moments are those of the batch that an estimator used for whitening; nil
	// means that the advantages of a group depend on that group alone.
	Moments *Moments `json:"moments,omitempty"`
	// Of tigpo.
	KeptEdges     int     `json:"kept_edges,omitempty"`      // edges that the kept graphs had for this iteration
	KeptStarts    int     `json:"kept_starts,omitempty"`     // starts with a kept graph
	RevisitRate   float64 `json:"revisit_rate,omitempty"`    // share of groups whose start had one
	KeptStepShare float64 `json:"kept_step_share,omitempty"` // share of steps from whose state kept edges shorten the way to a success
	KeptForgotten int     `json:"kept_forgotten,omitempty"`  // edges that left after this iteration, because there were too many
}

// Moments describe the values of a batch, to the last bit.
type Moments struct {
	N         int     `json:"n"`         // values of the batch
	Mean      float64 `json:"mean"`      // mean of the values
	Deviation float64 `json:"deviation"` // standard deviation of the values, divisor n−1
}

// Update describes the learner's pass over the iteration's samples.
type Update struct {
	Loss         float64 `json:"loss"`                 // mean total loss
	KL           float64 `json:"kl"`                   // divergence from the policy that acted (k3 estimate), nats
	Entropy      float64 `json:"entropy"`              // mean entropy of the policy, nats
	ClipFraction float64 `json:"clip_fraction"`        // share of samples whose gradient the clip removed; with cispo, bounded
	GradNorm     float64 `json:"grad_norm"`            // mean norm of the gradient over minibatches, before clipping
	ValueLoss    float64 `json:"value_loss,omitempty"` // mean loss of the critic
	LearningRate float64 `json:"learning_rate"`        // learning rate of the last minibatch
	Minibatches  int     `json:"minibatches"`          // minibatches of the update

	// Of the embedded network.
	PolicyLoss        float64 `json:"policy_loss,omitempty"`         // mean loss of the policy, without the other terms
	ReferenceKL       float64 `json:"kl_reference,omitempty"`        // divergence from the reference of the KL term (k3 estimate), nats
	KLCoefficient     float64 `json:"kl_coefficient,omitempty"`      // coefficient of the KL term
	EntropyWeight     float64 `json:"entropy_coefficient,omitempty"` // coefficient of the entropy
	DualClipFraction  float64 `json:"dual_clip_fraction,omitempty"`  // share of samples whose gradient the dual clip removed
	ExplainedVariance float64 `json:"explained_variance,omitempty"`  // share of the variance of returns that the critic explains, before the update
	AdvantageRMS      float64 `json:"advantage_rms,omitempty"`       // root mean square of the advantages, before advantage_scale

	// Of a language model; the last three compare the probabilities of the
	// learner with those of the sampler before the update.
	Sequences int     `json:"sequences,omitempty"` // sequences that the language model learned from
	Tokens    int     `json:"tokens,omitempty"`    // tokens with a gradient
	Ratio     float64 `json:"ratio,omitempty"`     // mean ratio of probabilities, learner ÷ sampler
	Drift     float64 `json:"drift,omitempty"`     // mean |difference| of log-probabilities of learner and sampler, nats
	DriftMax  float64 `json:"drift_max,omitempty"` // largest |difference| of log-probabilities, nats
}

// Time holds everything of a line that clocks decide, in seconds.
type Time struct {
	Total          float64 `json:"total"`            // seconds of the iteration
	Collect        float64 `json:"collect"`          // seconds of playing episodes
	Score          float64 `json:"score"`            // seconds of scoring
	Align          float64 `json:"align"`            // seconds of aligning step outputs with steps
	Advantage      float64 `json:"advantage"`        // seconds of estimating advantages
	Update         float64 `json:"update"`           // seconds of the update
	Record         float64 `json:"record"`           // seconds of writing the iteration
	Validate       float64 `json:"validate"`         // seconds of the validation
	StepsPerSecond float64 `json:"steps_per_second"` // environment steps per second of playing episodes
	CPU            CPU     `json:"cpu,omitzero"`     // absent in files of earlier versions
}
