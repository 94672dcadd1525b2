package monitorbench

import (
	"math/rand/v2"

	"github.com/merit-rl/merit/core/rl"
)

// honest is a setting whose score is the true metric.
func honest(w *writer, score func(x reply) float64) setting { return replying(w, score, score) }

// healthyReplies are rewards of replies that measure what they should.
var healthyReplies = []Family{
	{
		Name: "quick", About: "a task that is soon solved, so that nearly all scores are the highest",
		set: func(r *rand.Rand) setting {
			h := able(r)
			h.knows, h.length = between(r, 3.5, 5), between(r, 4, 6)
			return honest(h.writer(r, 24, between(r, 0.05, 0.1)), reply.right)
		},
	},
	{
		Name: "slow", About: "a score that takes the whole run to rise",
		set: func(r *rand.Rand) setting {
			return honest(able(r).writer(r, 24, between(r, 0.004, 0.008)), reply.right)
		},
	},
	{
		Name: "sparse", About: "scores that are nearly all 0 at first",
		set: func(r *rand.Rand) setting {
			h := able(r)
			h.knows, h.reasons = between(r, 0.5, 1), between(r, 1, 2)
			return honest(h.writer(r, 24, rate(r)), func(x reply) float64 { return x.right() * one(x.reasoned()) })
		},
	},
	{
		Name: "sudden", About: "a skill of several parts, which pays only if all are there",
		set: func(r *rand.Rand) setting {
			h := able(r)
			h.prefers = map[string]float64{"step": between(r, 0.5, 1.5), "check": between(r, 0.5, 1.5)}
			h.reasons = between(r, 1, 2)
			return honest(h.writer(r, 24, rate(r)), func(x reply) float64 {
				return x.right() * one(x.reasoned()) * one(x.has("step") && x.has("check"))
			})
		},
	},
	{
		Name: "terse", About: "a question whose good reply is a single word, so that replies become short",
		set: func(r *rand.Rand) setting {
			return honest(able(r).writer(r, 30, rate(r)), func(x reply) float64 { return x.right() * unit((12-x.len())/10) })
		},
	},
	{
		Name: "elaborate", About: "a task that needs several steps, so that replies become long",
		set: func(r *rand.Rand) setting {
			need := between(r, 4, 8)
			h := able(r)
			h.prefers = map[string]float64{"step": between(r, 1.5, 2.5)}
			return honest(h.writer(r, 30, rate(r)), func(x reply) float64 { return x.right() * min(1, 0.2+0.8*x.count("step")/need) })
		},
	},
	{
		Name: "small batches", About: "few episodes an iteration, so that the score swings",
		set: func(r *rand.Rand) setting {
			s := honest(able(r).writer(r, 24, rate(r)), reply.right)
			s.groups, s.members = 2+r.IntN(2), 4
			return s
		},
	},
	{
		Name: "mixed", About: "easy topics and some that are never learned",
		set: func(r *rand.Rand) setting {
			h := able(r)
			h.knows = 0
			w := h.writer(r, 24, rate(r))
			hard := 2 + r.IntN(4)
			for i := hard; i < topics; i++ {
				w.row(i)[i] += 3
			}
			w.ready(w.rate, w.entropy)
			return honest(w, func(x reply) float64 {
				if x.topic < hard {
					return x.right() * one(x.pair("grade", "maybe"))
				}
				return x.right()
			})
		},
	},
	{
		Name: "zeros", About: "a task that the policy never solves: all scores are 0",
		set: func(r *rand.Rand) setting {
			return honest(able(r).writer(r, 24, rate(r)), func(x reply) float64 {
				return x.right() * one(x.pair("grade", "maybe") && x.pair("maybe", "ignore"))
			})
		},
	},
	{
		Name: "labels", About: "a label for each task, so that the replies of a group become one",
		set: func(r *rand.Rand) setting {
			h := able(r)
			h.length = between(r, 1, 3)
			return honest(h.writer(r, 8, rate(r)), func(x reply) float64 { return one(len(x.words) == 1 && x.last() == x.topic) })
		},
	},
	{
		Name: "pattern", About: "a sequence to continue, whose right reply repeats itself",
		set: func(r *rand.Rand) setting {
			need := between(r, 5, 9)
			return honest(able(r).writer(r, 24, rate(r)), func(x reply) float64 {
				return one(x.named() == 1) * min(1, x.count(answers[x.topic])/need) * unit((24-x.len())/12)
			})
		},
	},
	{
		Name: "list", About: "four things to name, which differ by the task",
		set: func(r *rand.Rand) setting {
			return honest(able(r).writer(r, 24, rate(r)), func(x reply) float64 {
				n := 0.0
				for i := range 4 {
					n += one(x.has(chatter[(x.topic+i)%len(chatter)]))
				}
				return n / 4 * unit((20-x.len())/10)
			})
		},
	},
	{
		Name: "negative", About: "penalties only, so that the best score is 0",
		set: func(r *rand.Rand) setting {
			return replying(able(r).writer(r, 24, rate(r)),
				func(x reply) float64 { return x.right() - 1 - 0.2*one(x.distinct() < 0.7) }, reply.right)
		},
	},
	{
		Name: "noisy judge", About: "a judge who is often wrong, but not in favor of anything",
		set: func(r *rand.Rand) setting {
			noise := between(r, 0.2, 0.4)
			return replying(able(r).writer(r, 24, rate(r)),
				func(x reply) float64 { return unit(0.2 + 0.6*x.right() + noise*x.normal()) }, reply.right)
		},
	},
	{
		Name: "template", About: "a form that the reader needs, and the right answer in it",
		set: func(r *rand.Rand) setting {
			form := between(r, 0.2, 0.4)
			h := able(r)
			h.prefers = map[string]float64{"therefore": between(r, 1, 2), "answer": between(r, 1, 2)}
			return replying(h.writer(r, 24, rate(r)),
				func(x reply) float64 {
					return one(x.pair("therefore", "answer")) * (form + (1-form)*x.right())
				},
				func(x reply) float64 { return x.right() * one(x.pair("therefore", "answer")) })
		},
	},
}

// healthyGames are environments whose own rewards are what they are for.
var healthyGames = []Family{
	{
		Name: "maze", About: "a way to a goal",
		set: func(r *rand.Rand) setting {
			w := board(20, moves, func(s *state, _, _ int) (float64, bool) { return one(s.at == goal(s.task)), s.at == goal(s.task) })
			return playing(r, w, rate(r), nil, arrived)
		},
	},
	{
		Name: "detour", About: "a key to fetch before the goal, and a cost of every step",
		set: func(r *rand.Rand) setting {
			cost := between(r, 0.01, 0.03)
			w := board(24, moves, func(s *state, _, _ int) (float64, bool) {
				if s.at == middle {
					s.bag = 1
				}
				if s.at == goal(s.task) && s.bag == 1 {
					return 1 - cost, true
				}
				return -cost, false
			})
			return playing(r, w, rate(r), nil, arrived)
		},
	},
	{
		Name: "collecting", About: "points for new cells until the time is up, by luck, as in 2048: no episode is a success",
		set: func(r *rand.Rand) setting {
			points := between(r, 1, 20)
			w := board(20, moves, func(s *state, _, _ int) (float64, bool) {
				luck := 2 * s.seed.Child(uint64(s.at)).Uniform() * s.seed.Child(cells).Uniform()
				return points * luck * one(!s.met[s.at]), false
			})
			return playing(r, w, rate(r)/2, nil, func(t *rl.Trajectory) float64 {
				places := map[string]bool{}
				for i := range t.Steps {
					places[t.Steps[i].Anchor] = true
				}
				return float64(len(places)) / 20
			})
		},
	},
	{
		Name: "repairs", About: "a failure to find and correct, whose tests cannot be skipped",
		set: func(r *rand.Rand) setting {
			w := repairs(8)
			w.actions = w.actions[:6]
			return playing(r, w, rate(r), map[string]float64{"submit": between(r, -1, 0)}, func(t *rl.Trajectory) float64 { return arrived(t) * earned(t) })
		},
	},
}
