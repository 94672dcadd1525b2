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
	Validation *Score         `json:"validation,omitempty"`
	Best       bool           `json:"best,omitempty"` // the best validation so far
	Time       Time           `json:"time"`
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
	Stale     int            `json:"stale,omitempty"`     // steps of weights too old to learn from
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

// Interval is a 95 % confidence interval: low, high.
type Interval [2]float64

// Score is what an evaluation measured, over the scored episodes.
type Score struct {
	Success         float64  `json:"success"` // share of episodes
	SuccessInterval Interval `json:"success_interval"`
	Return          float64  `json:"return"` // mean sum of base rewards
	ReturnInterval  Interval `json:"return_interval"`
	Length          float64  `json:"length"` // mean steps
	LengthInterval  Interval `json:"length_interval"`
	Episodes        int      `json:"episodes"` // scored
	Unscored        int      `json:"unscored"`
	DistinctStarts  int      `json:"distinct_starts"`
}
