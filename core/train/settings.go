package train

import (
	"context"
	"log/slog"

	"github.com/merit-rl/merit/core/advantage"
	"github.com/merit-rl/merit/core/align"
	"github.com/merit-rl/merit/core/env"
	"github.com/merit-rl/merit/core/monitor"
	"github.com/merit-rl/merit/core/policy"
	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rollout"
	"github.com/merit-rl/merit/core/run"
)

// Settings are what a run is a function of, beside the environment, the policy
// and the rewards.
type Settings struct {
	Seed      uint64
	Rollout   rollout.Config
	Align     align.Config
	Advantage advantage.Config
	Train     Config
	Save      run.SaveConfig
	Monitor   monitor.Config
}

// Deps are what a run needs of the world.
type Deps struct {
	// OpenEnv starts an environment that plays a split, for a worker numbered
	// from 0. The context bounds the start only.
	OpenEnv func(ctx context.Context, split string, worker int) (env.Env, error)
	// Spec, if it is set, is what the policy is made for; else an environment is
	// asked. With it OpenEnv may be nil, if OpenPlayer needs none.
	Spec *env.Spec
	// OpenPolicy makes the policy that is to learn, untrained, for an
	// environment of spec. Its Learn will be called updates times at most. The
	// context bounds the start only.
	OpenPolicy func(ctx context.Context, spec env.Spec, updates int) (policy.Learner, error)
	// OpenPlayer says who plays for the run; nil plays and scores in this process.
	OpenPlayer OpenPlayer
	// Check, if it is set, looks at the reward before anything is played for the
	// run, and returns what rubric-check.json shall say of it: a function of the
	// settings and the seed, for a run that was stopped at once asks again. An
	// error ends the run before it begins.
	Check func(ctx context.Context) (any, error)
	// Rewards are the parts of the reward, at least one.
	Rewards []reward.Weighted
	// Report makes report.html from the folder of the finished run; nil writes none.
	Report func(dir string) ([]byte, error)
	Log    *slog.Logger // nil = none
	// Progress is told how far the run is; nil = nobody.
	Progress Reporter
}

// The splits of an environment's tasks.
const (
	SplitTrain      = "train"      // what the policy learns from
	SplitValidation = "validation" // decides early stop and the best checkpoint
	SplitTest       = "test"       // the final table only
)

// Splits returns the three, in the order of a run.
func Splits() []string { return []string{SplitTrain, SplitValidation, SplitTest} }

// Reporter is told how far a run is. Its methods are called from one
// goroutine at a time and must return quickly.
type Reporter interface {
	// Collecting: done of total episodes of the running iteration or
	// evaluation are finished. What names it: "train", "validation",
	// "test baseline", "test trained", …
	Collecting(what string, done, total int)
	// Evaluated: an evaluation is finished.
	Evaluated(what string, score run.Score)
	// Iterated: an iteration of at most total is finished.
	Iterated(it run.Iteration, total int)
}

// Beginner is a Reporter that wants to know where a run takes up: with the
// iterations that it has behind it, none for a new one, and at most how many it
// will have. It is told again when the run goes on from its last checkpoint
// because a policy was lost; what it heard since then did not happen.
type Beginner interface {
	Began(history []run.Iteration, total int)
}

// Quiet is a Reporter that says nothing.
type Quiet struct{}

// Collecting does nothing.
func (Quiet) Collecting(string, int, int) {}

// Evaluated does nothing.
func (Quiet) Evaluated(string, run.Score) {}

// Iterated does nothing.
func (Quiet) Iterated(run.Iteration, int) {}
