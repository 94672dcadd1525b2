package run

// Iteration is one line of metrics.jsonl. Iteration 0 is the untrained policy:
// it has a validation and nothing else.
type Iteration struct {
	Iteration  int            `json:"iteration"`
	EnvSteps   uint64         `json:"env_steps"` // of training, since the run began
	Episodes   uint64         `json:"episodes"`  // of training, since the run began
	Rollout    *Rollout       `json:"rollout,omitempty"`
	Outcomes   map[string]int `json:"outcomes,omitempty"` // reward.Outcome → trajectories
	Advantage  *Advantage     `json:"advantage,omitempty"`
	Update     *Update        `json:"update,omitempty"`
	Outputs    *Outputs       `json:"outputs,omitempty"`
	OffPolicy  *OffPolicy     `json:"off_policy,omitempty"` // of runs that learn from traces
	Validation *Score         `json:"validation,omitempty"`
	Best       bool           `json:"best,omitempty"`    // the best validation so far
	Alarms     []Alarm        `json:"alarms,omitempty"`  // alarms of core/monitor
	Adapted    *Caution       `json:"adapted,omitempty"` // applies from the next iteration on, if an alarm changed it
	Saved      *Frame         `json:"saved,omitempty"`
	Time       Time           `json:"time"`
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
	Value     float64 `json:"value"`     // what was measured
	Threshold float64 `json:"threshold"` // that it crossed
	Iteration int     `json:"iteration"`
	Evidence  string  `json:"evidence"` // the measurement in words
	Advice    string  `json:"advice"`
	// Trajectories are the ids of those to read first, the most suspicious one
	// first; they are kept with the run.
	Trajectories []string `json:"trajectories,omitempty"`
}

// Caution is how much alarms have slowed the learner down: factors of its learning
// rate and of the width of its clip.
type Caution struct {
	Rate float64 `json:"rate"`
	Clip float64 `json:"clip"`
}

// Outputs describes the behavior and output of the scored episodes of an
// iteration, which the monitor compares with the reward.
type Outputs struct {
	Groups     int     `json:"groups"`      // with a scored episode
	Score      float64 `json:"score"`       // mean
	ScoreStd   float64 `json:"score_std"`   // over episodes
	ScoreError float64 `json:"score_error"` // standard error of Score, groups being the units
	Top        float64 `json:"top"`         // share of episodes with the highest score
	EnvReward  float64 `json:"env_reward"`  // mean sum of the environment's own rewards
	Revisits   float64 `json:"revisits"`    // share of steps in a state that the episode had visited before

	// For policies that write text; 0 for others.
	Words     float64 `json:"words,omitempty"`     // mean of an episode
	Distinct  float64 `json:"distinct,omitempty"`  // mean share of distinct pairs among an episode's consecutive words
	Different float64 `json:"different,omitempty"` // mean share of distinct outputs in a group

	Metrics map[string]float64 `json:"metrics,omitempty"` // means of what the environment and the reward measured
}

// OffPolicy measures how far the learning policy is from the policy that decided,
// over the decisions that an iteration learned from.
type OffPolicy struct {
	Decisions int     `json:"decisions"`
	Weight    float64 `json:"weight"`    // mean of what the method multiplies by
	Effective float64 `json:"effective"` // effective share of decisions under the weights: (Σw)² ÷ (n Σw²)
	Bounded   float64 `json:"bounded"`   // share whose weight was clipped
}

// Rollout describes the episodes an iteration learned from; unscored ones
// count in Discarded only.
type Rollout struct {
	Success   float64        `json:"success"` // share of scored episodes
	Return    float64        `json:"return"`  // mean sum of base rewards
	Length    float64        `json:"length"`  // mean steps
	Episodes  int            `json:"episodes"`
	Steps     int            `json:"steps"`
	Stops     map[string]int `json:"stops"`               // rl.StopReason → trajectories
	Invalid   float64        `json:"invalid_actions"`     // share of steps
	Discarded int            `json:"discarded,omitempty"` // unscored or resampled away
	Stale     int            `json:"stale,omitempty"`     // steps whose weights were too old to learn from
}

// Advantage describes the credit an iteration assigned.
type Advantage struct {
	Mean             float64 `json:"mean"`
	Std              float64 `json:"std"`
	AnchorGroups     int     `json:"anchor_groups"`
	AnchorSize       float64 `json:"anchor_size"`        // mean steps in an anchor group
	SingletonShare   float64 `json:"singleton_share"`    // of steps, alone in their anchor group
	StepShare        float64 `json:"step_share"`         // of steps whose A_S is not 0
	ZeroVarianceRate float64 `json:"zero_variance_rate"` // of groups whose members all score the same
	// Moments are those of the batch that an estimator used for whitening; nil
	// means that the advantages of a group depend on that group alone.
	Moments *Moments `json:"moments,omitempty"`
}

// Moments describe the values of a batch, to the last bit.
type Moments struct {
	N         int     `json:"n"`
	Mean      float64 `json:"mean"`
	Deviation float64 `json:"deviation"` // divisor n−1
}

// Update describes the learner's pass over the iteration's samples.
type Update struct {
	Loss         float64 `json:"loss"`
	KL           float64 `json:"kl"`      // k3 estimate against the policy that acted, nats
	Entropy      float64 `json:"entropy"` // mean, nats
	ClipFraction float64 `json:"clip_fraction"`
	GradNorm     float64 `json:"grad_norm"` // mean over minibatches, before clipping
	ValueLoss    float64 `json:"value_loss,omitempty"`
	LearningRate float64 `json:"learning_rate"` // of the last minibatch
	Minibatches  int     `json:"minibatches"`

	// Of the embedded network.
	PolicyLoss        float64 `json:"policy_loss,omitempty"`
	ReferenceKL       float64 `json:"kl_reference,omitempty"` // k3 estimate against the KL term's reference, nats
	KLCoefficient     float64 `json:"kl_coefficient,omitempty"`
	EntropyWeight     float64 `json:"entropy_coefficient,omitempty"`
	DualClipFraction  float64 `json:"dual_clip_fraction,omitempty"`
	ExplainedVariance float64 `json:"explained_variance,omitempty"` // of the critic, before the update
	AdvantageRMS      float64 `json:"advantage_rms,omitempty"`      // before advantage_scale

	// Of a language model; the last three compare the probabilities of the
	// learner with those of the sampler before the update.
	Sequences int     `json:"sequences,omitempty"`
	Tokens    int     `json:"tokens,omitempty"`    // with a gradient
	Ratio     float64 `json:"ratio,omitempty"`     // mean, learner ÷ sampler
	Drift     float64 `json:"drift,omitempty"`     // mean |difference| of log-probabilities, nats
	DriftMax  float64 `json:"drift_max,omitempty"` // the largest
}

// Time holds everything of a line that the wall clock decides, in seconds.
type Time struct {
	Total          float64 `json:"total"`
	Collect        float64 `json:"collect"`
	Score          float64 `json:"score"`
	Align          float64 `json:"align"`
	Advantage      float64 `json:"advantage"`
	Update         float64 `json:"update"`
	Record         float64 `json:"record"`
	Validate       float64 `json:"validate"`
	StepsPerSecond float64 `json:"steps_per_second"` // environment steps over Collect
}
