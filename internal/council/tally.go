package council

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/merit-rl/merit/core/rl"
)

// option is an answer to vote for. Identical answers are one option.
type option struct {
	text    string
	authors []int // members, in their order
}

// options returns the different answers of a round, in the order of their first authors.
func options(answers []Answer) (list []option) {
	for i, a := range answers {
		if a.Text == "" {
			continue
		}
		at := slices.IndexFunc(list, func(o option) bool { return o.text == a.Text })
		if at < 0 {
			at = len(list)
			list = append(list, option{text: a.Text})
		}
		list[at].authors = append(list[at].authors, i)
	}
	return list
}

// ballot is what a voter sees: the options in an order, with their labels.
type ballot struct {
	options []option
	labels  []string
}

// ballot returns the ballot of voter. In blind mode its order depends on the voter, so that a
// place in the list wins no votes.
func (c *council) ballot(list []option, voter, round int) ballot {
	b := ballot{}
	for _, o := range list {
		if c.cfg.VoteSelf || len(o.authors) > 1 || o.authors[0] != voter {
			b.options = append(b.options, o)
		}
	}
	if c.cfg.Blind {
		seed := c.seed.Path(seedBallot, uint64(round), uint64(voter))
		for i := len(b.options) - 1; i > 0; i-- { // Fisher–Yates shuffle
			k := int(seed.Child(uint64(i)).Uniform() * float64(i+1))
			b.options[i], b.options[k] = b.options[k], b.options[i]
		}
	}
	for i, o := range b.options {
		label := string(rune('A' + i))
		if !c.cfg.Blind {
			label = c.members[o.authors[0]].Name
		}
		b.labels = append(b.labels, label)
	}
	return b
}

// shown returns the ballot as text.
func (b ballot) shown() string {
	var text strings.Builder
	for i, o := range b.options {
		element(&text, "answer", b.labels[i], o.text)
	}
	return text.String()
}

// needed returns how many of n votes are a quorum.
func (c Config) needed(n int) int { return max(1, int(math.Ceil(c.Quorum*float64(n)-1e-9))) }

// leading returns the option with the most votes and their number. Among equals, the one with
// more authors leads, then the first one. The vote and the answer of the member without, which
// may be −1, do not count.
func leading(list []option, votes []Vote, name func(int) string, without int) (best *option, count int) {
	type counted struct {
		*option
		votes, authors int
	}
	var all []counted
	for i := range list {
		o := counted{option: &list[i]}
		for _, a := range o.option.authors {
			if a != without {
				o.authors++
			}
		}
		for v, vote := range votes {
			if v != without && vote.For != "" && vote.For == name(list[i].authors[0]) {
				o.votes++
			}
		}
		if o.authors > 0 {
			all = append(all, o)
		}
	}
	if len(all) == 0 {
		return nil, 0
	}
	slices.SortStableFunc(all, func(a, b counted) int {
		return cmp.Or(cmp.Compare(b.votes, a.votes), cmp.Compare(b.authors, a.authors))
	})
	return all[0].option, all[0].votes
}

// restarts counts the votes for a restart.
func restarts(votes []Vote) (n int) {
	for _, v := range votes {
		if v.Restart {
			n++
		}
	}
	return n
}

// Labels of seeds.
const (
	seedAnswer = iota
	seedVote
	seedBallot
)

func (c *council) decision(label uint64, round, member int) rl.Seed {
	return c.seed.Path(label, uint64(round), uint64(member))
}
