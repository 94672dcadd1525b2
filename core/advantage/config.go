package advantage

import "github.com/merit-rl/merit/core/fault"

// Normalization is the divisor F of a relative advantage.
type Normalization string

// The divisors: 1, or the standard deviation (divisor n−1) plus epsilon.
const (
	MeanNorm    Normalization = "mean_norm"
	MeanStdNorm Normalization = "mean_std_norm"
)

// Scope says what counts once in the mean and deviation of episode scores.
type Scope string

// One value per trajectory (arXiv 2505.10978, Eq. 3), or one per step row, so
// that long trajectories weigh more (the reference implementation's default).
const (
	OverTrajectories Scope = "trajectories"
	OverSteps        Scope = "steps"
)

// Singleton is the episode advantage of a group of one.
type Singleton string

// Nothing, because there is nothing to compare with, or the raw score as the
// reference implementation has it (divided by 1+epsilon under mean_std_norm).
const (
	SingletonZero Singleton = "zero"
	SingletonRaw  Singleton = "raw"
)

// Combination joins episode and step advantage.
type Combination string

// The forms: A_E + ω A_S (arXiv 2505.10978, Eq. 8) and the older
// ω A_E + (1−ω) A_S.
const (
	CombineSum    Combination = "sum"
	CombineConvex Combination = "convex"
)

// The exponent of a step's value in graphgpo: the distance that remains after the step, or the
// change of the distance plus 1. Among the steps from one state they differ by a factor, so only
// by epsilon: far from a success the former fades.
const (
	distanceNext     = "next"
	distanceProgress = "progress"
)

// What the episode advantage compares in an estimator that adds a step advantage: the score
// with the group, or the return of the step with the whole batch, as reinforce_pp does.
const (
	episodeGroup = "group"
	episodeBatch = "batch"
)

// Config selects an estimator and its settings.
type Config struct {
	// Estimator computes the advantages.
	Estimator string `yaml:"estimator" json:"estimator" jsonschema:"enum=gigpo,enum=grpo,enum=rloo,enum=reinforce_pp,enum=gae,enum=flow_grpo,enum=lightning,enum=hgpo,enum=graphgpo,enum=tigpo,enum=g2po,enum=gagpo,enum=opo,enum=maxrl,enum=grpo_passk,enum=reinforce_pp_baseline,enum=gdpo,enum=rae,enum=remax,enum=tree,enum=vine,enum=counterfactual"`
	// Gamma is the discount factor γ.
	Gamma float64 `yaml:"gamma" json:"gamma" jsonschema:"minimum=0,maximum=1"`
	// Lambda is the λ of gae and gagpo.
	Lambda float64 `yaml:"lambda" json:"lambda" jsonschema:"minimum=0,maximum=1"`
	// Omega is the weight ω of the step advantage in gigpo, graphgpo, tigpo and g2po.
	Omega float64 `yaml:"omega" json:"omega" jsonschema:"minimum=0,maximum=1e6"`
	// Normalization is what relative advantages are divided by: 1 (mean_norm), or the
	// standard deviation plus epsilon (mean_std_norm). Estimators whose formula names its
	// divisor do not use it.
	Normalization Normalization `yaml:"normalization" json:"normalization" jsonschema:"enum=mean_norm,enum=mean_std_norm"`
	// BaselineOver says what counts once in the mean and the standard deviation of
	// episode scores: each trajectory, or each of its steps.
	BaselineOver Scope `yaml:"baseline_over" json:"baseline_over" jsonschema:"enum=trajectories,enum=steps"`
	// Singleton is the episode advantage of a group that has only one trajectory:
	// zero, or its raw score.
	Singleton Singleton `yaml:"singleton" json:"singleton" jsonschema:"enum=zero,enum=raw"`
	// Combine is how gigpo, graphgpo, tigpo and g2po join the episode advantage and the step advantage: sum
	// is A_E + ω A_S, convex is ω A_E + (1−ω) A_S.
	Combine Combination `yaml:"combine" json:"combine" jsonschema:"enum=sum,enum=convex"`
	// Episode is what the episode advantage of gigpo, graphgpo, tigpo and g2po compares: the score
	// of the episode with its group (group), or the return of the step with the whole
	// batch, which is reinforce_pp (batch).
	Episode string `yaml:"episode" json:"episode" jsonschema:"enum=group,enum=batch"`
	// Similarity is the smallest similarity ratio, above 0 and below 1, at which two
	// anchors count as the same state. 0 requires equal anchors.
	Similarity float64 `yaml:"similarity" json:"similarity" jsonschema:"minimum=0,exclusiveMaximum=1" hint:"use 0 for exact anchors or a ratio above 0 and below 1"`
	// Epsilon is added to a standard deviation before the division.
	Epsilon float64 `yaml:"epsilon" json:"epsilon" jsonschema:"minimum=1e-12,maximum=1"`
	// InvalidActionPenalty is the coefficient of the penalty for invalid actions,
	// usually 0.1; 0 turns it off.
	InvalidActionPenalty float64 `yaml:"invalid_action_penalty" json:"invalid_action_penalty" jsonschema:"minimum=0,maximum=1e6"`
	// History is how many observations before the current one hgpo compares.
	History int `yaml:"history" json:"history" jsonschema:"minimum=0,maximum=64"`
	// HistoryExponent is the exponent α of the level weights in hgpo.
	HistoryExponent float64 `yaml:"history_exponent" json:"history_exponent" jsonschema:"minimum=0,maximum=16"`
	// SuccessScore is the score above which graphgpo and tigpo take a trajectory that was not
	// truncated for a success.
	SuccessScore float64 `yaml:"success_score" json:"success_score"`
	// DistanceDecay is the factor by which graphgpo and tigpo value a state less for each step
	// that it is further from a success.
	DistanceDecay float64 `yaml:"distance_decay" json:"distance_decay" jsonschema:"exclusiveMinimum=0,exclusiveMaximum=1" hint:"use a number between 0 and 1, such as 0.1"`
	// Distance is what graphgpo and tigpo value a step by: the distance that remains after it
	// (next), or the change of the distance (progress).
	Distance string `yaml:"distance" json:"distance" jsonschema:"enum=next,enum=progress"`
	// KeptEdges is how many edges tigpo keeps of the graphs of earlier updates. Beyond, the
	// edges that were not taken for the longest time leave. One edge needs about 100 bytes
	// of memory and 10 in a checkpoint.
	KeptEdges int `yaml:"kept_edges" json:"kept_edges" jsonschema:"minimum=0,maximum=100000000"`
}

// Default returns GiGPO as Merit runs it: γ 0.95, ω 1, no division by the
// deviation, one value per trajectory, 0 for a group of one.
func Default() Config {
	return Config{
		Estimator: "gigpo", Gamma: 0.95, Lambda: 0.95, Omega: 1,
		Normalization: MeanNorm, BaselineOver: OverTrajectories, Singleton: SingletonZero, Combine: CombineSum, Episode: episodeGroup,
		Epsilon: 1e-6, History: 2, HistoryExponent: 1, DistanceDecay: 0.1, Distance: distanceNext, KeptEdges: 100_000,
	}
}

// Validate returns every problem of c, with key paths relative to the stage.
func (c Config) Validate() []error {
	p := fault.Validate(&c)
	p.Check(c.Combine != CombineConvex || c.Omega <= 1, "omega", c.Omega, "use a number from 0 to 1 with combine: convex")
	p.Check(finite(c.SuccessScore), "success_score", c.SuccessScore, "use a finite number")
	return p
}

// Whitens reports whether c compares over the whole batch and not inside groups only; see
// [EstimatePart].
func (c Config) Whitens() bool {
	e := lookup(c.Estimator)
	return e.whitens || e.combines && c.Episode == episodeBatch
}

func (c Config) norm() Norm {
	return Norm{Normalization: c.Normalization, Epsilon: c.Epsilon, Singleton: c.Singleton}
}
