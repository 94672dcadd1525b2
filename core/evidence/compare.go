package evidence

import (
	"fmt"
	"slices"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/run"
)

// Comparison is the comparison of two evaluations.
type Comparison struct {
	// Paired is true if both played the same starts. Each episode is then compared
	// with the one from the same start.
	Paired bool `json:"paired"`
	// Before and After are how many episodes count: those with a score; in pairs,
	// those that both have a score of.
	Before int `json:"episodes_before"`
	After  int `json:"episodes_after"`
	// Unscored is the share of all episodes that do not count.
	Unscored float64 `json:"unscored"`
	// Metrics are success, return and length, then the environment's and the
	// reward's by name, and then pass@k and pass^k for each k that both scores have.
	Metrics []Difference `json:"metrics"`
	Verdict Verdict      `json:"verdict"`
	// Notes list other differences between the two evaluations.
	Notes []string `json:"notes,omitempty"`
}

// Metric returns the difference in a metric, and whether there is one.
func (c Comparison) Metric(name string) (Difference, bool) {
	for _, d := range c.Metrics {
		if d.Name == name {
			return d, true
		}
	}
	return Difference{}, false
}

// Compare compares after with before and judges by c. Both must have played one
// environment and split. If they played the same starts in the same order, they
// are compared in pairs.
func Compare(before, after *run.Evaluation, c Config) (Comparison, error) {
	switch {
	case before.Environment != after.Environment:
		return Comparison{}, differ("the environment", fmt.Sprint(before.Environment), fmt.Sprint(after.Environment))
	case before.Split != after.Split:
		return Comparison{}, differ("the split", before.Split, after.Split)
	}
	b, a := contested(before, after)
	all := len(b) + len(a)
	paired := Unpaired(before, after) == nil
	if paired {
		b, a = bothScored(b, a)
	} else {
		b, a = scored(b), scored(a)
	}
	result := Comparison{Paired: paired, Before: len(b), After: len(a), Notes: notes(before, after)}
	if all > 0 {
		result.Unscored = 1 - float64(len(b)+len(a))/float64(all)
	}
	if len(b) == 0 || len(a) == 0 {
		return result, &fault.Error{
			Boundary: fault.Data, Kind: fault.Invalid, What: "no episode has a score in both evaluations",
			Hint: "find out why the reward returns no score",
		}
	}
	result.Metrics = append(differences(b, a, paired), attempted(before, after)...)
	var err error
	result.Verdict, err = c.judge(result)
	return result, err
}

// contested returns the episodes of both with their win rates against one reference
// policy. If that is one of the two, it wins half against itself; if there is no common
// reference, no episode has a win rate.
func contested(before, after *run.Evaluation) (b, a []run.Played) {
	b, a = before.Episodes, after.Episodes
	switch x, y := before.Against, after.Against; {
	case x == nil && y == nil, x != nil && y != nil && x.Same(*y):
		return b, a
	case y != nil && y.Same(before.Player):
		return withWon(b, new(0.5)), a
	case x != nil && x.Same(after.Player):
		return b, withWon(a, new(0.5))
	}
	return withWon(b, nil), withWon(a, nil)
}

func withWon(all []run.Played, won *float64) []run.Played {
	out := slices.Clone(all)
	for i := range out {
		if out[i].Won = won; !out[i].Scored {
			out[i].Won = nil
		}
	}
	return out
}

// Unpaired returns why two evaluations did not play the same episodes, so that
// they cannot be compared in pairs; nil if they did.
func Unpaired(a, b *run.Evaluation) error {
	if len(a.Episodes) != len(b.Episodes) {
		return differ("the number of episodes", fmt.Sprint(len(a.Episodes)), fmt.Sprint(len(b.Episodes)))
	}
	for i := range a.Episodes {
		x, y := a.Episodes[i].Start, b.Episodes[i].Start
		if x != y && x != "" && y != "" {
			return differ(fmt.Sprintf("the start of episode %d", i), x, y)
		}
	}
	return nil
}

func differ(what, x, y string) error {
	return &fault.Error{
		Boundary: fault.Data, Kind: fault.Invalid, What: fmt.Sprintf("the evaluations differ in %s: %s and %s", what, x, y),
		Hint: "measure both with the same environment settings, seed, split and number of episodes",
	}
}

func bothScored(before, after []run.Played) (b, a []run.Played) {
	for i, x := range before {
		if y := after[i]; x.Scored && y.Scored {
			b, a = append(b, x), append(a, y)
		}
	}
	return b, a
}

func scored(all []run.Played) (out []run.Played) {
	for _, e := range all {
		if e.Scored {
			out = append(out, e)
		}
	}
	return out
}

// notesOfWins says whom the win rates are against.
func notesOfWins(x, y *run.Player, before, after run.Player) []string {
	switch {
	case x == nil && y == nil:
		return nil
	case y != nil && y.Same(before), x != nil && x.Same(after):
		return []string{"the reward compared the episodes of both in the same groups; a win rate of 50 % means equal"}
	case x != nil && y != nil && x.Same(*y):
		return []string{fmt.Sprintf("win rates are against %s; to compare both directly, use merit policy measure --policy RUN --against RUN", x)}
	}
	return []string{"the reward compared both with different policies, so their results do not mean the same; use merit policy measure --policy RUN --against RUN"}
}

// notes lists why the numbers of two evaluations mean different things.
func notes(before, after *run.Evaluation) (list []string) {
	same := func(a, b run.Module) bool { return a.Name == b.Name && a.Digest == b.Digest && a.Weight == b.Weight }
	if !slices.EqualFunc(before.Rewards, after.Rewards, same) {
		list = append(list, "they used different rewards, so success and return do not mean the same in both")
	}
	if before.Greedy != after.Greedy {
		list = append(list, "one evaluation took the most likely action, the other sampled")
	}
	return append(list, notesOfWins(before.Against, after.Against, before.Player, after.Player)...)
}
