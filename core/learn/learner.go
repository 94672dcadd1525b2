package learn

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/learn/internal/graph"
	"github.com/merit-rl/merit/core/learn/internal/loss"
	"github.com/merit-rl/merit/core/rl"
)

// Learner improves a policy with PPO. It is not safe for concurrent use.
type Learner struct {
	cfg          PPOConfig
	policy       *Policy
	adam         adam
	reference    []float32 // initial parameters; nil if the KL term does not need them
	coefficients loss.Coefficients

	shardRows int
	lanes     []*graph.Graph // one for each shard that runs at the same time
	shards    []*loss.Result // of a minibatch
	backup    backup
}

// NewLearner makes a learner that changes p in place. The parameters that p
// has now are the initial ones of the KL term.
func NewLearner(cfg PPOConfig, p *Policy) (*Learner, error) {
	if problems := cfg.Validate(); len(problems) > 0 {
		return nil, problems[0]
	}
	if cfg.Schedule.Kind != ScheduleConstant && cfg.Schedule.Updates == 0 {
		return nil, &fault.Error{
			Boundary: fault.Config, Kind: fault.Missing, Where: "schedule.updates",
			What: fmt.Sprintf("the %s schedule has no length", cfg.Schedule.Kind), Hint: "give the number of updates of the whole run",
		}
	}
	l := &Learner{
		cfg: cfg, policy: p, adam: newAdam(cfg, len(p.params)), shardRows: shardRows(cfg.Minibatch),
		coefficients: loss.Coefficients{Entropy: cfg.Entropy, KL: cfg.KLCoefficient, Value: cfg.ValueLoss},
	}
	if l.holdsInitial() {
		l.reference = slices.Clone(p.params)
	}
	return l, nil
}

func (l *Learner) holdsInitial() bool {
	return l.cfg.KLCoefficient > 0 && l.cfg.KLReference == ReferenceInitial
}

// Update learns from s: cfg.Epochs passes of shuffled minibatches. Seed
// decides the shuffles. Every call counts in Policy.Version and the schedule,
// also one without a row of weight above 0.
//
// On an error policy and learner are as they were before the call: samples
// that do not fit the policy (fault.Invalid), a loss, gradient or parameter
// that is not finite (fault.Numeric), or ctx done (fault.Interrupted).
func (l *Learner) Update(ctx context.Context, s *Samples, seed rl.Seed) (Stats, error) {
	b, err := l.prepare(s)
	if err != nil {
		return Stats{}, err
	}
	l.backup.save(l)
	sums := newSums(b, l.rate())
	for epoch := range l.cfg.Epochs {
		order := shuffle(len(b.rows), seed.Child(uint64(epoch)))
		for _, minibatch := range split(order, l.cfg.Minibatch) {
			if err := l.step(ctx, b, minibatch, sums); err != nil {
				l.backup.restore(l)
				return Stats{}, err
			}
		}
	}
	if i := slices.IndexFunc(l.policy.params, func(x float32) bool { return x-x != 0 }); i >= 0 {
		l.backup.restore(l)
		return Stats{}, numeric(fmt.Sprintf("parameter %d became infinite or not a number", i))
	}
	l.policy.version.Add(1)
	return sums.stats(), nil
}

// rate is the learning rate of the next update.
func (l *Learner) rate() float64 {
	return l.cfg.LearningRate * l.cfg.Schedule.Factor(l.policy.Version())
}

// step is one optimiser step on the given rows of b.
func (l *Learner) step(ctx context.Context, b *batch, minibatch []int, sums *sums) error {
	if err := ctx.Err(); err != nil {
		return &fault.Error{Boundary: fault.Learner, Kind: fault.Interrupted, What: "the update was interrupted; the policy is as before it", Err: err}
	}
	gradient, err := l.gradient(b, minibatch, sums)
	if err != nil {
		return err
	}
	var square float64
	for _, g := range gradient {
		square += float64(g) * float64(g)
	}
	norm := math.Sqrt(square)
	if norm-norm != 0 {
		return numeric("the gradient is infinite or not a number")
	}
	sums.minibatch(norm)
	scale := 1.0
	if l.cfg.GradClip > 0 && norm > l.cfg.GradClip {
		scale = l.cfg.GradClip / norm
	}
	l.adam.step(l.policy.params, gradient, scale, sums.result.LearningRate)
	return nil
}

// Close frees the learner's graphs. The policy stays usable.
func (l *Learner) Close() error {
	for _, g := range l.lanes {
		if err := g.Close(); err != nil {
			return err
		}
	}
	l.lanes = nil
	return nil
}

func numeric(what string) error {
	return &fault.Error{
		Boundary: fault.Learner, Kind: fault.Numeric, What: what,
		Hint: "lower learning_rate, or check rewards and features for extreme values; the policy is as before the update",
	}
}

// backup holds what an update changes.
type backup struct {
	params, first, second []float32
	steps                 uint64
}

func (b *backup) save(l *Learner) {
	b.params = append(b.params[:0], l.policy.params...)
	b.first = append(b.first[:0], l.adam.first...)
	b.second = append(b.second[:0], l.adam.second...)
	b.steps = l.adam.steps
}

func (b *backup) restore(l *Learner) {
	copy(l.policy.params, b.params)
	copy(l.adam.first, b.first)
	copy(l.adam.second, b.second)
	l.adam.steps = b.steps
}
