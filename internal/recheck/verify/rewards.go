package verify

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/run"
	"github.com/merit-rl/merit/internal/asking"
	"github.com/merit-rl/merit/internal/data/jsonl"
	"github.com/merit-rl/merit/internal/recheck/recompute"
	"github.com/merit-rl/merit/internal/rubric"
	"github.com/merit-rl/merit/internal/rubric/rubrics"
	"github.com/merit-rl/merit/internal/traces/learning"
	"github.com/merit-rl/merit/sandbox"
	"github.com/merit-rl/merit/sdk/merit"
)

// Reward is a part of the run's reward.
type Reward struct {
	Name   string `json:"name"`
	Digest string `json:"digest"`          // recorded by the run
	Found  string `json:"found,omitempty"` // where it was found; empty if it is not a file
	// Why says why it was not run again; empty if it was.
	Why string `json:"why,omitempty"`
	// Chain lists the rewards that were asked one after the other, if there are several.
	Chain []Reward `json:"chain,omitempty"`
}

// whyNot says why the reward, or one of its chain, was not run again.
func (r Reward) whyNot() string {
	for _, part := range r.Chain {
		if part.Why != "" {
			return cmp.Or(r.Why, part.Name+": "+part.Why)
		}
	}
	return r.Why
}

// rewards finds the rewards of the run and prepares the recipe. It returns nothing to close if
// not all rewards can be run again, because the parts of a weighted sum cannot be separated.
func (v *verification) rewards(ctx context.Context, m *run.Manifest, opts []merit.Option) (*merit.Rewards, error) {
	v.recipe = recompute.Recipe{Indexing: reward.ByAssistant, Align: v.cfg.Align, Members: v.cfg.Rollout.Members, Branched: v.cfg.Rollout.Branch.On()}
	if len(m.Rewards) == 1 {
		v.recipe.Indexing = reward.StepIndexing(m.Rewards[0].StepIndexing)
	}
	var problems []error
	list := make([]merit.Reward, 0, len(v.cfg.Rewards))
	for i, recorded := range m.Rewards {
		found := Reward{Name: recorded.Name, Digest: recorded.Digest}
		if i < len(v.cfg.Rewards) {
			part := v.cfg.Rewards[i]
			problems = append(problems, v.chain(ctx, &part, &found, recorded))
			found.Why = found.whyNot()
			list = append(list, part)
		}
		v.report.Rewards = append(v.report.Rewards, found)
	}
	if err := errors.Join(problems...); err != nil || !v.report.Rescored() {
		return nil, err
	}
	rewards, err := merit.LoadRewards(ctx, v.cfg.Sandbox, list, append(slices.Clip(opts), merit.WithOutdated())...)
	if err != nil {
		return nil, err
	}
	if v.sameParts(rewards.Parts, m.Rewards) {
		v.recipe.Rewards, v.recipe.Compares = reward.NewPool(rewards.Parts, 1), rewards.Group()
	}
	return rewards, nil
}

// chain finds a part of the configuration's rewards, and those that are asked after it, by
// their digests.
func (v *verification) chain(ctx context.Context, part *merit.Reward, found *Reward, recorded run.Module) error {
	if len(recorded.Chain) == 0 && part.Otherwise == nil {
		return v.part(ctx, part, found, recorded)
	}
	if n := len(part.Chain()); n != len(recorded.Chain) {
		found.Why = "the configuration and the manifest disagree about the rewards after it"
		v.find(run.ConfigFile, recompute.Difference{
			Field: "rewards after " + recorded.Name, Stored: fmt.Sprint(n - 1), Computed: fmt.Sprintf("%d by %s", max(0, len(recorded.Chain)-1), run.ManifestFile),
		})
		return nil
	}
	v.weight(part, recorded)
	var problems []error
	for i := range recorded.Chain {
		one := recorded.Chain[i]
		one.Weight = part.Weight // only the whole chain has a weight
		own := Reward{Name: one.Name, Digest: one.Digest}
		problems = append(problems, v.part(ctx, part, &own, one))
		found.Chain = append(found.Chain, own)
		if part.Otherwise != nil {
			next := *part.Otherwise
			part.Otherwise = &next
			part = &next
		}
	}
	return errors.Join(problems...)
}

// weight compares the weight of a reward with the recorded one.
func (v *verification) weight(part *merit.Reward, recorded run.Module) {
	if part.Weight != recorded.Weight {
		v.find(run.ConfigFile, recompute.Difference{
			Field: "weight of reward " + recorded.Name, Stored: fmt.Sprint(part.Weight), Computed: fmt.Sprintf("%v by %s", recorded.Weight, run.ManifestFile),
		})
	}
}

// part finds one part of the configuration's rewards by its digest.
func (v *verification) part(ctx context.Context, part *merit.Reward, found *Reward, recorded run.Module) error {
	switch {
	case part.Judge != nil, asks(rubrics.Of(*part)):
		found.Why = "a language model does not repeat its answers"
	case part.Module != "":
		if c := asking.Of(*part); c != nil {
			answers, err := v.answers()
			if err != nil {
				return err
			}
			part.Ask = c.From(answers)
		}
		return v.module(ctx, part, found)
	}
	v.weight(part, recorded)
	return nil
}

// module looks for a module or script with the recorded digest where the configuration says,
// and then where the options say. The digest of a rubric reward also covers the checker that
// applies the rules.
func (v *verification) module(ctx context.Context, part *merit.Reward, found *Reward) error {
	named, err := part.Reference()
	if err != nil {
		return err
	}
	candidates := []sandbox.Reference{named}
	for _, text := range v.o.Rewards {
		ref, err := sandbox.ParseReference(text)
		if err != nil {
			return err
		}
		if ref.Function == "" {
			ref.Function = named.Function
		}
		ref.With = named.With
		candidates = append(candidates, ref)
	}
	digest, release, err := v.digests(ctx, part)
	if err != nil {
		return err
	}
	defer release()
	var other []string // digests
	for _, ref := range candidates {
		bundle, err := sandbox.ReadBundle(ref, v.cfg.Sandbox.Limits)
		if err != nil {
			if len(candidates) == 1 {
				if f := fault.As(err); f != nil {
					f.Hint = "use --reward to say where the reward " + found.Name + " (" + found.Digest + ") is now"
				}
				return err
			}
			continue
		}
		if digest(bundle.Digest) == found.Digest {
			part.Module, found.Found = ref.String(), ref.Path
			return nil
		}
		other = append(other, ref.Path+" "+digest(bundle.Digest))
	}
	found.Why = "no file has this digest"
	seen := "no file"
	if len(other) > 0 {
		seen = other[0]
	}
	v.find(run.ManifestFile, recompute.Difference{Field: "digest of reward " + found.Name, Stored: found.Digest, Computed: seen})
	return nil
}

// answers reads what language models answered to the questions of modules, from the notes of
// the saved trajectories.
func (v *verification) answers() (asking.Record, error) {
	all := asking.Record{}
	files, err := filepath.Glob(filepath.Join(v.dir, run.Trajectories, "*"+ending))
	if err != nil {
		return nil, err
	}
	for _, path := range files {
		for t, err := range jsonl.Trajectories(path) {
			if err != nil {
				break // reported where the file is checked
			}
			for _, text := range t.Notes {
				if note, err := asking.ReadNote(text); err == nil {
					all.Add(note)
				}
			}
		}
	}
	return all, nil
}

// asks reports whether a rubric reward asks a language model.
func asks(c *rubrics.Config) bool { return c != nil && c.Judge != nil && c.Judge.Server != nil }

// digests returns a function from the digest of a module to the digest of the reward that it
// is part of.
func (v *verification) digests(ctx context.Context, part *merit.Reward) (digest func(string) string, release func(), err error) {
	digest = func(module string) string { return module }
	if c := asking.Of(*part); c != nil {
		a, err := asking.Open(*c, asking.Options{})
		if err != nil {
			return nil, nil, err
		}
		digest = func(module string) string { return sandbox.AskingDigest(module, a) }
	}
	dual := rubrics.Of(*part)
	if dual == nil {
		return digest, func() {}, nil
	}
	own := digest
	k, err := rubrics.Open(ctx, *dual, rubrics.Options{Sandbox: v.cfg.Sandbox})
	if err != nil {
		return nil, nil, err
	}
	e := rubrics.NewEngine(k, 0)
	return func(module string) string { return rubric.ScorerDigest(e, own(module)) }, func() { _ = k.Close() }, nil // it was not started
}

// sameParts compares the loaded rewards, including scorers of a program, with those of the
// manifest.
func (v *verification) sameParts(parts []reward.Weighted, recorded []run.Module) bool {
	same := len(parts) == len(recorded)
	for i := range recorded {
		r := &v.report.Rewards[i]
		if i >= len(parts) {
			r.Why, same = "it is a scorer of the program that trained", false
			if r.Digest == (learning.Recorded{}).Info().Digest {
				r.Why = "its scores are stored with the traces; merit traces score computes them again"
			}
			continue
		}
		if info := parts[i].Scorer.Info(); info.Digest != r.Digest {
			r.Why, same = "the scorer found has the digest "+info.Digest, false
			v.find(run.ManifestFile, recompute.Difference{Field: "digest of reward " + r.Name, Stored: r.Digest, Computed: info.Digest})
		}
	}
	return same
}
