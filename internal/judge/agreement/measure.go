package agreement

import (
	"fmt"
	"math"
	"slices"
)

// Report says how far a judge can be trusted on data like the labelled.
type Report struct {
	Groups int `json:"groups"`
	// Unscored is how many groups the judge gave no scores, in the first order.
	Unscored int `json:"unscored_groups"`
	// Alike is how many groups have one label for all: they tell nothing.
	Alike int `json:"groups_with_one_label"`
	// Tau is the mean over groups of Kendall's τ-b between scores and labels:
	// 1 the same order, 0 no relation, −1 the reverse.
	Tau *Estimate `json:"kendall_tau"`
	// Best is how often the member that the judge scores highest has the highest
	// label; where it scores several highest, the share of them that has.
	Best *Estimate `json:"best_is_best"`
	// Chance is what Best would be for a judge that picks blindly.
	Chance float64 `json:"best_by_chance"`
	// Kept is the share of pairs that keep their order when the members are
	// shown in reverse, of the pairs that at least one order tells apart. It is
	// nil for a judge that sees one trajectory at a time.
	Kept *Estimate `json:"kept_when_reversed"`
	// First is the share of pairs in which the member that is shown first has
	// the higher score, over both orders: ½ for a judge that does not care.
	First *Estimate `json:"first_shown_wins"`

	Verdict  Verdict `json:"verdict"`
	Sentence string  `json:"sentence"`
}

// Verdict is what to do with a judge.
type Verdict string

// The closed set of verdicts.
const (
	Trust   Verdict = "trust"   // its order is that of the labels, by and large
	Weak    Verdict = "weak"    // better than chance, and not much
	Useless Verdict = "useless" // not better than chance, as far as the data can tell
	TooFew  Verdict = "too_few" // the data cannot tell
)

// What a verdict asks for, at the lower end of the intervals.
const (
	FewGroups    = 10  // below so many groups there is no verdict
	TrustedTau   = 0.4 // 70 % of the pairs in the order of the labels
	TrustedKept  = 0.7
	MuchUnscored = 0.1
)

// Measure compares what a judge says with the labels.
func Measure(groups []Judged) Report {
	r := Report{Groups: len(groups)}
	var taus, bests, kept, first []float64
	var cluster, keptBy, firstBy []string
	chance := 0.0
	for i, g := range groups {
		key := g.Cluster
		if key == "" {
			key = fmt.Sprint("group ", i)
		}
		for _, same := range unchanged(g) {
			kept, keptBy = append(kept, same), append(keptBy, key)
		}
		for _, won := range firstWins(g) {
			first, firstBy = append(first, won), append(firstBy, key)
		}
		switch tau, ok := Tau(g.Score, g.Label); {
		case g.Score == nil:
			r.Unscored++
		case slices.Min(g.Label) == slices.Max(g.Label):
			r.Alike++
		default:
			if !ok {
				tau = 0 // the judge tells nobody apart
			}
			best, blind := bestIsBest(g.Score, g.Label)
			taus, bests, cluster = append(taus, tau), append(bests, best), append(cluster, key)
			chance += blind
		}
	}
	r.Tau, r.Best = mean(taus, cluster, -1, 1), mean(bests, cluster, 0, 1)
	r.Kept, r.First = mean(kept, keptBy, 0, 1), mean(first, firstBy, 0, 1)
	if len(taus) > 0 {
		r.Chance = chance / float64(len(taus))
	}
	r.Verdict, r.Sentence = r.verdict()
	return r
}

func (r *Report) verdict() (Verdict, string) {
	switch {
	case r.Tau == nil || r.Tau.N < FewGroups:
		n := 0
		if r.Tau != nil {
			n = r.Tau.N
		}
		return TooFew, fmt.Sprintf("%d groups with a score and different labels are too few to say anything; at least %d are needed", n, FewGroups)
	case r.Tau.Interval[1] < 0:
		return Useless, "It prefers what the labels say is worse: do not train on it."
	case r.Tau.Interval[0] <= 0:
		return Useless, "No better than chance, as far as this data can tell: do not train on it."
	case float64(r.Unscored) > MuchUnscored*float64(r.Groups):
		return Weak, fmt.Sprintf("Better than chance, but %d of %d groups have no score: use a server that enforces a JSON Schema, or a larger model.", r.Unscored, r.Groups)
	case r.Kept != nil && r.Kept.Interval[0] < TrustedKept:
		return Weak, "Better than chance, but the order in which it is shown the members decides much: a larger model, or a judge that sees one at a time."
	case r.Tau.Interval[0] < TrustedTau:
		return Weak, "Better than chance, but weak: train on it only beside a reward that can be verified."
	}
	return Trust, "Its order is that of the labels, by and large: it can be trained on where the data is like this."
}

// Tau returns Kendall's τ-b of x and y, which allows for ties in both. It does
// not exist, and ok is false, if all of x or all of y are equal.
//
// Shapes: x, y [n]. Source: Kendall, Biometrika 33 (1945) 239–251.
func Tau(x, y []float64) (tau float64, ok bool) {
	sum, byX, byY := 0, 0, 0
	for i := range x {
		for k := range i {
			a, b := sign(x[i]-x[k]), sign(y[i]-y[k])
			sum += a * b
			byX += a * a
			byY += b * b
		}
	}
	if byX == 0 || byY == 0 {
		return 0, false
	}
	return float64(sum) / math.Sqrt(float64(byX)*float64(byY)), true
}

// bestIsBest returns the share of the members with the highest score that have
// the highest label, and the share of all members that have it.
func bestIsBest(score, label []float64) (share, chance float64) {
	top, best, both, good := slices.Max(score), slices.Max(label), 0, 0
	tops := 0
	for i := range score {
		if label[i] == best {
			good++
		}
		if score[i] == top {
			if tops++; label[i] == best {
				both++
			}
		}
	}
	return float64(both) / float64(tops), float64(good) / float64(len(label))
}

// unchanged is 1 for each pair that both orders put the same way round and 0
// for each that they do not; pairs that neither tells apart are not there.
func unchanged(g Judged) (out []float64) {
	if g.Score == nil || g.Reversed == nil {
		return nil
	}
	for i := range g.Score {
		for k := range i {
			a, b := sign(g.Score[i]-g.Score[k]), sign(g.Reversed[i]-g.Reversed[k])
			if a != 0 || b != 0 {
				out = append(out, truth(a == b))
			}
		}
	}
	return out
}

// firstWins is, for each pair and order that tells it apart, whether the one
// that was shown first has the higher score.
func firstWins(g Judged) (out []float64) {
	if g.Score == nil || g.Reversed == nil || g.Place == nil {
		return nil
	}
	for i := range g.Score {
		for k := range i {
			before := sign(float64(g.Place[k] - g.Place[i])) // 1: i stood first
			if a := sign(g.Score[i] - g.Score[k]); a != 0 {
				out = append(out, truth(a == before))
			}
			if b := sign(g.Reversed[i] - g.Reversed[k]); b != 0 {
				out = append(out, truth(b == -before))
			}
		}
	}
	return out
}

func truth(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

func sign(x float64) int {
	switch {
	case x > 0:
		return 1
	case x < 0:
		return -1
	}
	return 0
}
