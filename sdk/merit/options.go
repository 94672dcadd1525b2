package merit

import (
	"context"
	"log/slog"
	"os"

	"github.com/merit-rl/merit/core/config"
	"github.com/merit-rl/merit/core/credit"
	"github.com/merit-rl/merit/core/env"
	"github.com/merit-rl/merit/core/policy"
	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/run"
	"github.com/merit-rl/merit/core/train"
)

// Option replaces or adds a part of a session.
type Option func(*options)

type options struct {
	log      *slog.Logger
	progress train.Reporter
	open     OpenEnv
	policy   OpenPolicy
	scorers  []reward.Weighted
	read     func(ctx context.Context, spec env.Spec, open OpenEnv) (Recordings, error)
	recorded *Recordings // what read returned
	getenv   func(string) string
	refused  func(module string, err error) error
	outdated bool
	places   config.Places // from the configuration, if there is one
}

func newOptions(list []Option) options {
	o := options{getenv: os.Getenv}
	for _, apply := range list {
		apply(&o)
	}
	if o.log == nil {
		o.log = slog.New(slog.DiscardHandler)
	}
	if o.progress == nil {
		o.progress = train.Quiet{}
	}
	return o
}

// OpenEnv starts an environment that plays a split (train, validation or test)
// for a worker, numbered from 0. Each worker has its own environment. The
// context limits only the start. All environments must have the same env.Spec,
// and the start of an episode must be a function of the split and the seed.
type OpenEnv func(ctx context.Context, split string, worker int) (env.Env, error)

// WithEnvironment plays an environment of this process instead of the
// configuration's plug-in, which may then be empty.
func WithEnvironment(open OpenEnv) Option { return func(o *options) { o.open = open } }

// OpenPolicy makes an untrained policy for an environment with spec. The policy
// learns at most updates times. -1 means that it only acts, or loads a state
// that another policy saved. What it decides and learns must be a function of
// its settings and its inputs. The context limits only the start.
type OpenPolicy func(ctx context.Context, spec env.Spec, updates int) (policy.Learner, error)

// WithPolicy trains and plays a policy of this process instead of the
// configuration's policy.
func WithPolicy(open OpenPolicy) Option { return func(o *options) { o.policy = open } }

// WithScorer adds a scorer of this process to the configuration's rewards,
// which may then be empty. A scorer that runs outside the sandbox is trusted:
// it must be deterministic and safe for concurrent use. Weight is finite.
func WithScorer(s reward.Scorer, weight float64) Option {
	return func(o *options) { o.scorers = append(o.scorers, reward.Weighted{Scorer: s, Weight: weight}) }
}

// Recordings are episodes that others played earlier. A run learns from them
// instead of playing episodes. internal/traces/learning makes them from traces.
type Recordings struct {
	About run.Traces // for the manifest
	Spec  env.Spec   // the form of environment that a policy learns for
	// Player returns a player that gives the recordings of a split, scored by
	// scoring, to p. The player of the train split is a train.Recorded.
	Player func(split string, p policy.Policy, scoring *credit.Pipeline) train.Player
}

// WithRecordings trains from the recordings that read returns. Open calls it once, with
// the environment that measures the run, so that the environment can encode them: its
// description and how to start it, or no description and nil. The configuration needs
// no environment then, and no reward if the options add a scorer. Without an
// environment, evaluations are estimates from held-out recordings.
func WithRecordings(read func(ctx context.Context, spec env.Spec, open OpenEnv) (Recordings, error)) Option {
	return func(o *options) { o.read = read }
}

// WithLogger logs to log. If log is nil, the default, nothing is logged.
func WithLogger(log *slog.Logger) Option { return func(o *options) { o.log = log } }

// WithProgress reports the progress of training, rollouts and evaluations to r.
// If r is nil, the default, nothing is reported.
func WithProgress(r train.Reporter) Option { return func(o *options) { o.progress = r } }

// WithVariables looks up environment variables (MERIT_PLUGINS, MERIT_CACHE,
// XDG_CACHE_HOME, HOME) with getenv instead of os.Getenv.
func WithVariables(getenv func(string) string) Option {
	return func(o *options) { o.getenv = getenv }
}

// WithRefusal lets explain replace the error of a module that the sandbox
// rejects, for programs that can tell its author more.
func WithRefusal(explain func(module string, err error) error) Option {
	return func(o *options) { o.refused = explain }
}

// WithOutdated also loads modules whose sources have changed since they were
// built, for programs that identify a module by its digest.
func WithOutdated() Option { return func(o *options) { o.outdated = true } }
