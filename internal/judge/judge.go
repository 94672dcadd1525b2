// Package judge scores with a language model where nothing can be verified: it
// shows a group of trajectories to a model and takes its word for which is
// better. The scores of a group are relative to each other (RULER, of
// OpenPipe's ART), which is all that group-relative advantages need.
//
// A judge is a reward.Scorer as a module is. What it says is untrusted: an
// answer that cannot be matched with the members by id leaves all of them
// without a score, never with 0.
package judge

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"log/slog"
	"time"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
)

// Options are what a judge needs beside its configuration.
type Options struct {
	// Identity is all that decides what Model answers, such as its name and the
	// server's address: part of the digest, and so of what is cached.
	Identity string
	// InFlight is how many questions Model takes at one time.
	InFlight int
	// Reversed shows the members in the reverse order, to find out whether it
	// matters.
	Reversed bool
	// Log is told what harms no score, such as a cache that cannot be written;
	// nil is nowhere.
	Log *slog.Logger
}

// Judge is a reward that asks a language model. It is safe for concurrent use.
type Judge struct {
	cfg    Config
	model  Model
	opts   Options
	rubric string
	digest string
	cache  *cache
	totals counters
}

var _ reward.GroupScorer = (*Judge)(nil)

// abi is the version of the prompt and of how answers are read.
const abi = "judge/1"

// New returns a judge that asks model. It reads the rubric's file, if there is
// one.
func New(cfg Config, model Model, o Options) (*Judge, error) {
	rubric, err := cfg.rubric()
	if err != nil {
		return nil, err
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	j := &Judge{cfg: cfg, model: model, opts: o, rubric: rubric, cache: newCache(cfg.Cache, o.Log)}
	text, err := json.Marshal([]any{
		abi, o.Identity, cfg.Mode, rubric, cfg.Explain, cfg.MaxExplanation, cfg.ScoreStep, cfg.Seed, cfg.Temperature, cfg.MaxTokens, cfg.MaxChars, o.Reversed,
	})
	sum := sha256.Sum256(text)
	j.digest = "sha256:" + hex.EncodeToString(sum[:])
	return j, err
}

// Info implements reward.Scorer.
func (j *Judge) Info() reward.Info {
	return reward.Info{
		Name: "judge", Digest: j.digest, ABI: abi, StepIndexing: reward.ByAssistant, Group: j.cfg.Mode == Ruler,
		GroundTruth: reward.UseIgnored, InFlight: j.opts.InFlight,
	}
}

// Evaluate implements reward.Scorer: t is judged on its own.
func (j *Judge) Evaluate(ctx context.Context, t *rl.Trajectory) reward.Evaluation {
	return j.together(ctx, j.rubric, []*rl.Trajectory{t})[0]
}

// EvaluateBy judges t on its own by a rubric in the place of the configured one,
// such as a single question about what was done. Nothing but its length is
// checked: whoever writes it decides what the judge looks for.
func (j *Judge) EvaluateBy(ctx context.Context, rubric string, t *rl.Trajectory) reward.Evaluation {
	return j.together(ctx, rubric, []*rl.Trajectory{t})[0]
}

// EvaluateGroup implements reward.GroupScorer. Members that say the same are
// shown once and share the score: a group in which all do is a group of one,
// which the judge is asked about as about any other, since a score that nobody
// gave would stand in every mean.
func (j *Judge) EvaluateGroup(ctx context.Context, members []*rl.Trajectory) []reward.Evaluation {
	if j.cfg.Mode == Ruler {
		return j.together(ctx, j.rubric, members)
	}
	out := make([]reward.Evaluation, len(members))
	for i, t := range members {
		out[i] = j.Evaluate(ctx, t)
	}
	return out
}

// together judges members by rubric in one question.
func (j *Judge) together(ctx context.Context, rubric string, members []*rl.Trajectory) []reward.Evaluation {
	began := time.Now()
	out := make([]reward.Evaluation, len(members))
	g, err := newGroup(members, rl.Seed(j.cfg.Seed), j.opts.Reversed)
	var v verdict
	if err == nil {
		v, err = j.decide(ctx, rubric, g)
	}
	if err != nil {
		j.totals.unscored(len(members))
	}
	failed := failure(ctx, err)
	for i := range members {
		e := failed
		if err == nil {
			e = v.scores[g.place[i]].evaluation()
		}
		if v.answer.Text != "" {
			e.Notes = map[string]json.RawMessage{"": v.note(g, g.place[i])}
		}
		e.Elapsed = time.Since(began) / time.Duration(len(members))
		out[i] = e
	}
	return out
}

// failure is the outcome of members about which there is no verdict.
func failure(ctx context.Context, err error) reward.Evaluation {
	if err == nil {
		return reward.Evaluation{}
	}
	e := reward.Evaluation{Outcome: reward.Infrastructure, Reason: "the judge: " + clean(err.Error(), maxReason)}
	f := fault.As(err)
	switch {
	case ctx.Err() != nil:
	case errors.Is(err, ErrClosed):
		e.Fatal = err
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, fault.Of(fault.Model, fault.Timeout)):
		e.Outcome = reward.Timeout
	case errors.Is(err, ErrUnusable):
		e.Outcome = reward.ABIViolation
	case errors.Is(err, ErrTooLong):
		e.Outcome = reward.OutputLimit
	}
	if f != nil && f.Hint != "" {
		e.Reason += " (" + clean(f.Hint, maxReason) + ")"
	}
	return e
}
