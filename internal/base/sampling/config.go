// Package sampling decides which tasks a run trains on: at random, by epochs, or by how
// much they can still teach. It knows tasks by number only. All draws are a function of
// the seed, of the number of earlier draws and of what was reported about them.
package sampling

import "github.com/merit-rl/merit/core/fault"

// Method is how tasks are drawn.
type Method string

// The methods.
const (
	Random Method = "random" // uniformly with replacement
	Epochs Method = "epochs" // each task once in every epoch
	Pools  Method = "pools"  // by the signal that a task gives per cost
)

// Cost is what a task costs.
type Cost string

// The costs of an episode.
const (
	Steps  Cost = "steps"
	Tokens Cost = "tokens" // that the policy sampled
	None   Cost = "none"   // every episode costs the same
)

// Config says which tasks training draws.
type Config struct {
	// Method is how training draws the task of a group: random, uniformly with
	// replacement; epochs, each task once in every epoch, in an order that differs
	// between epochs; or pools, in proportion to p(1 − p) ÷ c of a task, where p is its
	// recent success and c its mean cost. Pools rests tasks that are always or never
	// solved.
	Method Method `yaml:"method" json:"method" jsonschema:"enum=random,enum=epochs,enum=pools" hint:"use random, epochs or pools"`
	// Tasks is the number of tasks in the set that training draws from: the first ones of
	// the environment. With 0, it is all tasks of an environment with a fixed list of
	// them, such as a data set, and without a list every group has a new task.
	Tasks int `yaml:"tasks" json:"tasks" jsonschema:"minimum=0,maximum=1048576" hint:"use 0 (all) to 1048576"`
	// Window is how many of a task's latest episodes pools looks at.
	Window int `yaml:"window" json:"window" jsonschema:"minimum=2,maximum=64" hint:"use 2 to 64 episodes"`
	// Revisit is after how many iterations pools plays a resting task again. At most a
	// quarter of the groups of an iteration are such tasks.
	Revisit int `yaml:"revisit" json:"revisit" jsonschema:"minimum=1" hint:"use 1 or more iterations"`
	// Cost is what pools divides by: the mean steps of a task's episodes, the mean tokens
	// that the policy sampled, or none.
	Cost Cost `yaml:"cost" json:"cost" jsonschema:"enum=steps,enum=tokens,enum=none" hint:"use steps, tokens or none"`
}

// Default returns the settings of a run that draws a new task for every group.
func Default() Config {
	return Config{Method: Random, Window: 16, Revisit: 20, Cost: Steps}
}

// Validate returns all problems of c.
func (c Config) Validate() []error { return fault.Validate(&c) }

// Set reports whether c draws from a set of tasks.
func (c Config) Set() bool { return c.Method != Random || c.Tasks > 0 }

// PartKey is the key of an episode's metadata that names its environment in a mixture, as
// JSON text.
const PartKey = "mixture_part"

// MaxTasks is the largest number of tasks of a set.
const MaxTasks = 1 << 20

// Source is an environment of a run. Seed r + W·s, where r is one of its Weight remainders
// and W the sum of all weights, starts the task of seed s.
type Source struct {
	Name   string
	Weight int // at least 1
	Tasks  int // seeds that are equal modulo Tasks start the same task; 0 = every seed is another task
}

// size returns the number of tasks that c draws from a source.
func (c Config) size(s Source) int {
	if s.Tasks == 0 || c.Tasks == 0 {
		return max(s.Tasks, c.Tasks)
	}
	return min(s.Tasks, c.Tasks)
}

// Suits returns every source of which c cannot make a set.
func (c Config) Suits(sources []Source) []error {
	var p fault.Problems
	for _, s := range sources {
		switch n := c.size(s); {
		case !c.Set():
		case n == 0:
			p.Missing("tasks", "environment "+s.Name+" has no fixed list of tasks", "set train.sampling.tasks to a number of tasks, such as 500")
		case n > MaxTasks:
			p.Invalid("tasks", "environment "+s.Name+" has more than 1048576 tasks", "set train.sampling.tasks to 1048576 or less")
		}
	}
	return p
}
