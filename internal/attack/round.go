package attack

import (
	"cmp"
	"context"
	"math/rand/v2"
	"slices"

	"github.com/cespare/xxhash/v2"

	"github.com/merit-rl/merit/internal/attack/doubt"
	"github.com/merit-rl/merit/internal/attack/finding"
	"github.com/merit-rl/merit/internal/attack/mutate"
	"github.com/merit-rl/merit/internal/attack/reply"
	"github.com/merit-rl/merit/internal/attack/trial"
)

// Sizes of a search.
const (
	perRound   = 1024 // replies that a round tries on one task
	suspects   = 48   // replies of them that it tries on all tasks
	population = 400  // replies that are kept to change
	everywhere = 0.45 // the relative score from which a reply is tried on all tasks
	perKind    = 3    // findings of one cause that are minimized; more are only counted
)

// search is one attack.
type search struct {
	subject Subject
	target  *trial.Target
	words   *mutate.Dictionary
	doubts  *doubt.Doubter
	options Options
	seeds   []mutate.Seed
	next    int // of seeds

	round, quiet int
	before       int // evaluations of the rounds that were restored
	kept         []individual
	seen         map[uint64]bool     // what evaluations have shown
	covered      []uint64            // the places that an evaluation has reached
	low          []uint64            // those that one with a low score has
	tried        map[uint64]bool     // replies that were tried on all tasks
	minimized    map[string]int      // by what was tried, how many replies were minimized
	kinds        map[string][]string // by cause, what was tried
	findings     []finding.Finding
}

// individual is a reply to change.
type individual struct {
	Kind     string      `json:"kind"`
	Reply    reply.Reply `json:"reply"`
	Relative float64     `json:"relative"`
}

// makeRound makes one round, and returns how many replies did something new.
func (a *search) makeRound(ctx context.Context) (fresh int, err error) {
	batch := a.batch(rand.New(rand.NewPCG(a.options.Seed, uint64(a.round))))
	var trials []*trial.Trial
	for i := range batch {
		trials = append(trials, &trial.Trial{Case: (i + a.round) % len(a.target.Cases), Reply: batch[i].Reply})
	}
	if err := a.target.Score(ctx, trials); err != nil {
		return 0, err
	}
	for i, x := range trials {
		batch[i].Relative = x.Relative
		if a.news(x) {
			fresh++
			a.kept = append(a.kept, batch[i])
		}
	}
	a.cull()
	found := len(a.findings)
	if a.round == 0 {
		if err := a.groups(ctx); err != nil {
			return 0, err
		}
	}
	if err := a.suspect(ctx, batch); err != nil {
		return fresh, err
	}
	a.round++
	if a.quiet++; fresh > 0 || len(a.findings) > found {
		a.quiet = 0
	}
	return fresh, nil
}

// groups looks at groups of equal replies, if the reward compares.
func (a *search) groups(ctx context.Context) error {
	all, err := a.doubts.Groups(ctx)
	for _, v := range all {
		a.report(v.Trial.Reply, v.Kind, v)
	}
	return err
}

// batch returns the replies of a round: seeds while there are any, then changed ones.
func (a *search) batch(r *rand.Rand) (batch []individual) {
	for a.next < len(a.seeds) && len(batch) < perRound {
		s := a.seeds[a.next]
		batch = append(batch, individual{Kind: s.Kind, Reply: s.Reply})
		a.next++
	}
	for len(batch) < perRound {
		of, other := a.parent(r), a.parent(r)
		batch = append(batch, individual{Kind: of.Kind, Reply: a.words.Mutate(r, of.Reply, other.Reply)})
	}
	return batch
}

// parent chooses a reply to change: the best of a few, or any.
func (a *search) parent(r *rand.Rand) individual {
	if len(a.kept) == 0 {
		s := a.seeds[r.IntN(len(a.seeds))]
		return individual{Kind: s.Kind, Reply: s.Reply}
	}
	best := a.kept[r.IntN(len(a.kept))]
	for range r.IntN(4) {
		if other := a.kept[r.IntN(len(a.kept))]; other.Relative > best.Relative {
			best = other
		}
	}
	return best
}

// cull keeps the newest half of the population, and the best of the rest.
func (a *search) cull() {
	if len(a.kept) <= population {
		return
	}
	old, young := a.kept[:len(a.kept)-population/2], a.kept[len(a.kept)-population/2:]
	slices.SortStableFunc(old, func(x, y individual) int { return cmp.Compare(y.Relative, x.Relative) })
	a.kept = slices.Concat(old[:min(len(old), population/2)], young)
}

// suspect tries replies with high scores on all tasks, and asks whether they deserve them.
func (a *search) suspect(ctx context.Context, batch []individual) error {
	some := a.suspects(batch)
	n := len(a.target.Cases)
	var trials []*trial.Trial
	for _, s := range some {
		for i := range n {
			trials = append(trials, &trial.Trial{Case: i, Reply: s.Reply})
		}
	}
	if err := a.target.Score(ctx, trials); err != nil {
		return err
	}
	for _, s := range some {
		own := trials[:n:n]
		trials = trials[n:]
		if learns(s.Reply) {
			a.target.Learn(own)
		}
		v, err := a.doubts.Of(ctx, s.Reply, own)
		if err != nil {
			return err
		}
		if v != nil {
			if err := a.found(ctx, s, v); err != nil {
				return err
			}
		}
	}
	return nil
}

// learns reports whether a reply is the right answer in some form, so that it shows what a right one
// earns.
func learns(r reply.Reply) bool {
	for _, p := range r {
		if p.Kind != reply.Literal && p.Kind != reply.Right && (p.Kind != reply.Calls || p.N != reply.Intact) || p.Times > 1 {
			return false
		}
	}
	return r.Knows()
}

// suspects chooses the replies of a round to try on all tasks: those without any answer always, others by
// their score, and first those of a kind that was not found yet.
func (a *search) suspects(batch []individual) (some []individual) {
	found := map[string]int{}
	for _, f := range a.findings {
		found[f.Kind] += 1 + f.Others
	}
	for _, s := range batch {
		if s.Relative < everywhere && s.Kind != "nothing" || a.tried[keyOf(s.Reply)] {
			continue
		}
		some = append(some, s)
	}
	slices.SortStableFunc(some, func(x, y individual) int {
		return cmp.Or(cmp.Compare(found[x.Kind], found[y.Kind]), cmp.Compare(y.Relative, x.Relative))
	})
	some = distinct(some, suspects)
	for _, s := range some {
		a.tried[keyOf(s.Reply)] = true
	}
	return some
}

// distinct takes at most a number of replies, from each kind in turn.
func distinct(all []individual, most int) (some []individual) {
	byKind := map[string][]individual{}
	var order []string
	for _, s := range all {
		if byKind[s.Kind] == nil {
			order = append(order, s.Kind)
		}
		byKind[s.Kind] = append(byKind[s.Kind], s)
	}
	for i := 0; len(some) < min(most, len(all)); i++ {
		for _, kind := range order {
			if i < len(byKind[kind]) && len(some) < most {
				some = append(some, byKind[kind][i])
			}
		}
	}
	return some
}

func keyOf(r reply.Reply) uint64 { return xxhash.Sum64String(r.Key()) }
