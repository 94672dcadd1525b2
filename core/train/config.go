package train

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/run"
	"github.com/merit-rl/merit/internal/base/strictjson"
)

// Config is the train section: how long, how it is judged, when it stops.
type Config struct {
	// Iterations is the most that the run does.
	Iterations int `yaml:"iterations" json:"iterations" resume:"free" jsonschema:"minimum=0" hint:"use 0 (evaluate only) or more"`
	// EnvSteps ends the run with the iteration that brings training to that many
	// steps of the environment; 0 = never. It is how runs are compared whose
	// episodes are not equally long.
	EnvSteps int `yaml:"env_steps" json:"env_steps" jsonschema:"minimum=0" hint:"use 0 (off) or a number of steps"`
	// EvaluateEvery is how many iterations lie between two validations.
	EvaluateEvery int `yaml:"evaluate_every" json:"evaluate_every" jsonschema:"minimum=1"`
	// ValidationEpisodes are played, by sampling, in each validation; it
	// decides the best checkpoint and the early stop.
	ValidationEpisodes int `yaml:"validation_episodes" json:"validation_episodes" jsonschema:"minimum=1" hint:"use 1 or more; 500 gives ±4 points"`
	// TestEpisodes are played once at the end for the final table, by each of
	// the untrained and the trained policy, on starts of the test split.
	TestEpisodes int `yaml:"test_episodes" json:"test_episodes" jsonschema:"minimum=1" hint:"use 1 or more; 1000 gives ±3 points"`
	// TargetSuccess stops the run once validation reaches it; 0 = never.
	TargetSuccess float64 `yaml:"target_success" json:"target_success" jsonschema:"minimum=0,maximum=1" hint:"use a share from 0 (off) to 1"`
	// Patience stops the run after that many validations without a better
	// one; 0 = never.
	Patience int `yaml:"patience" json:"patience" jsonschema:"minimum=0" hint:"use 0 (off) or a number of validations"`
	// SuccessScore: an episode that the environment terminated with a score
	// above it is a success.
	SuccessScore float64 `yaml:"success_score" json:"success_score"`
	// Cluster says which episodes are not independent of each other, so that
	// intervals and tests take them together: start are those from one start, task
	// those of one task, by its id up to the first slash, such as all that were
	// about one rubric.
	Cluster Cluster `yaml:"cluster" json:"cluster" jsonschema:"enum=start,enum=task"`
	// Expect says, by the name of a metric (or success, return, length), between
	// which two numbers a baseline should lie: what a measurement holds them to.
	Expect map[string]any `yaml:"expect" json:"expect" resume:"free"`
	// CheckpointEvery is how many iterations lie between two checkpoints.
	CheckpointEvery int `yaml:"checkpoint_every" json:"checkpoint_every" jsonschema:"minimum=1"`
	// Resample is how often an iteration replaces groups whose members all
	// score the same (dynamic sampling, arXiv 2503.14476); 0 = never.
	Resample int `yaml:"resample" json:"resample" jsonschema:"minimum=0,maximum=100" hint:"use 0 (off) to 100"`
	// SkipZero leaves steps whose advantage is 0 out of the update: they have
	// no gradient but the entropy bonus's, and often are most of a batch.
	SkipZero bool `yaml:"skip_zero" json:"skip_zero"`
	// MaxStaleness is how many updates old the weights may be that decided a
	// step; from older steps nothing is learnt.
	MaxStaleness int `yaml:"max_staleness" json:"max_staleness" jsonschema:"minimum=0" hint:"use 0 (only the newest weights) or more"`
	// Restarts is how often a policy that was lost, its process or its engine,
	// is opened again and the run goes on from its last checkpoint.
	Restarts int `yaml:"restarts" json:"restarts" resume:"free" jsonschema:"minimum=0,maximum=100"`
}

// DefaultConfig returns the settings of a run of some minutes on a small
// environment.
func DefaultConfig() Config {
	return Config{
		Iterations: 200, EvaluateEvery: 10, ValidationEpisodes: 500, TestEpisodes: 1000,
		Patience: 10, SuccessScore: 0.5, Cluster: ByStart, CheckpointEvery: 5, Restarts: 2,
	}
}

// Validate returns every problem of c.
func (c Config) Validate() []error {
	p := fault.Validate(&c)
	p.Check(c.SuccessScore-c.SuccessScore == 0, "success_score", c.SuccessScore, "use a finite number")
	for _, name := range slices.Sorted(maps.Keys(c.Expect)) {
		_, err := c.Expected(name)
		p.Check(err == nil, "expect."+name, c.Expect[name], "use two numbers, the lower one first, such as [0.7, 0.85]")
	}
	return p
}

// Expected returns the range of Expect for a name, and nil if there is none.
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
		return nil, errors.New("is not two numbers in order")
	}
	return &run.Interval{two[0], two[1]}, nil
}
