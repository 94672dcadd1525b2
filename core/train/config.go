package train

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/run"
	"github.com/merit-rl/merit/internal/base/sampling"
	"github.com/merit-rl/merit/internal/base/strictjson"
)

// Config is the section train: how long a run is, how it is evaluated and when
// it stops.
type Config struct {
	// Iterations is the maximum number of iterations.
	Iterations int `yaml:"iterations" json:"iterations" resume:"free" jsonschema:"minimum=0" hint:"use 0 (evaluate only) or more"`
	// EnvSteps ends the run with the iteration in which training reaches this number
	// of environment steps; 0 means never. Use it to compare runs whose episodes
	// have different lengths.
	EnvSteps int `yaml:"env_steps" json:"env_steps" jsonschema:"minimum=0" hint:"use 0 (off) or a number of steps"`
	// EvaluateEvery is the number of iterations between two validations.
	EvaluateEvery int `yaml:"evaluate_every" json:"evaluate_every" jsonschema:"minimum=1"`
	// ValidationEpisodes is the number of episodes in each validation, with sampled
	// actions. Validation decides the best checkpoint and early stopping.
	ValidationEpisodes int `yaml:"validation_episodes" json:"validation_episodes" jsonschema:"minimum=1" hint:"use 1 or more; 500 gives ±4 points"`
	// TestEpisodes is the number of episodes on the test split that the untrained
	// and the trained policy each play at the end, for the final table.
	TestEpisodes int `yaml:"test_episodes" json:"test_episodes" jsonschema:"minimum=1" hint:"use 1 or more; 1000 gives ±3 points"`
	// TargetSuccess stops the run when validation reaches this success rate; 0 means
	// never.
	TargetSuccess float64 `yaml:"target_success" json:"target_success" jsonschema:"minimum=0,maximum=1" hint:"use a share from 0 (off) to 1"`
	// Patience stops the run after this many validations without a better one; 0
	// means never.
	Patience int `yaml:"patience" json:"patience" jsonschema:"minimum=0" hint:"use 0 (off) or a number of validations"`
	// Stop holds further rules that end a run.
	Stop StopConfig `yaml:"stop" json:"stop"`
	// SuccessScore is the score above which an episode that the environment
	// terminated counts as a success.
	SuccessScore float64 `yaml:"success_score" json:"success_score"`
	// Cluster says which episodes depend on each other, so that intervals and tests
	// treat them as one cluster: those from the same start, or those of the same
	// task. The part of an id before the first slash names the task, such as a
	// rubric.
	Cluster Cluster `yaml:"cluster" json:"cluster" jsonschema:"enum=start,enum=task"`
	// Expect gives for a metric (or success, return, length) the two numbers between
	// which a baseline must be. Measurements check it.
	Expect map[string]any `yaml:"expect" json:"expect" resume:"free"`
	// CheckpointEvery is the number of iterations between two checkpoints.
	CheckpointEvery int `yaml:"checkpoint_every" json:"checkpoint_every" jsonschema:"minimum=1"`
	// Keep selects the checkpoints that the run keeps besides the last and the best.
	Keep run.KeepConfig `yaml:"keep" json:"keep" resume:"free"`
	// From is a checkpoint that a new run starts from instead of an untrained policy:
	// the directory of a run, which means its best checkpoint, or RUN@ITERATION,
	// RUN@last or RUN@best. All other settings may differ from that run's, except the
	// network's layout and the form of the environment.
	From string `yaml:"from" json:"from"`
	// FreshOptimizer starts with the weights of From only, without the state of its
	// optimizer.
	FreshOptimizer bool `yaml:"fresh_optimizer" json:"fresh_optimizer"`
	// Sampling says which tasks training plays. Validation and test are not affected.
	Sampling sampling.Config `yaml:"sampling" json:"sampling"`
	// Resample is how often an iteration replaces groups whose members all have the
	// same score (dynamic sampling, arXiv 2503.14476); 0 means never.
	Resample int `yaml:"resample" json:"resample" jsonschema:"minimum=0,maximum=100" hint:"use 0 (off) to 100"`
	// SkipZero leaves steps with advantage 0 out of the update. Their only gradient
	// is that of the entropy bonus, and they are often most of a batch.
	SkipZero bool `yaml:"skip_zero" json:"skip_zero"`
	// MaxStaleness is how many updates old the weights that decided a step may be.
	// Training drops the whole group of an older step before it computes advantages.
	MaxStaleness int `yaml:"max_staleness" json:"max_staleness" jsonschema:"minimum=0" hint:"use 0 (only the newest weights) or more"`
	// Restarts is how often Merit reopens a policy that was lost (its process or its
	// engine) and resumes the run from the last checkpoint.
	Restarts int `yaml:"restarts" json:"restarts" resume:"free" jsonschema:"minimum=0,maximum=100"`
}

// DefaultConfig returns the settings of a run of some minutes on a small
// environment.
func DefaultConfig() Config {
	return Config{
		Iterations: 200, EvaluateEvery: 10, ValidationEpisodes: 500, TestEpisodes: 1000,
		Patience: 10, SuccessScore: 0.5, Cluster: byStart, CheckpointEvery: 5, Restarts: 2, Stop: StopConfig{Flags: flagsContinue}, Sampling: sampling.Default(),
	}
}

// Validate returns all problems of c.
func (c Config) Validate() []error {
	p := fault.Validate(&c)
	p.Check(c.SuccessScore-c.SuccessScore == 0, "success_score", c.SuccessScore, "use a finite number")
	p.Check(c.From != "" || !c.FreshOptimizer, "fresh_optimizer", c.FreshOptimizer, "set train.from, or remove it: without from, the optimizer is fresh anyway")
	for _, name := range slices.Sorted(maps.Keys(c.Expect)) {
		_, err := c.Expected(name)
		p.Check(err == nil, "expect."+name, c.Expect[name], "use two numbers, the lower one first, such as [0.7, 0.85]")
	}
	return p
}

// Expected returns the range in Expect for a name, or nil if there is none.
func (c Config) Expected(name string) (*run.Interval, error) {
	value, ok := c.Expect[name]
	if !ok {
		return nil, nil
	}
	text, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	var two []float64
	if err := strictjson.Unmarshal(text, &two); err != nil || len(two) != 2 || two[0] > two[1] {
		return nil, errors.New("must be two numbers in ascending order")
	}
	return &run.Interval{two[0], two[1]}, nil
}
