package explain

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/merit-rl/merit/core/advantage"
)

// Sum describes how the parts result in the advantage, without its value.
func (e *Explanation) Sum() string {
	c := e.Config
	switch {
	case !e.Scored:
		return "0: the trajectory has no score"
	case combines(c.Estimator) && c.Combine == advantage.CombineConvex:
		return fmt.Sprintf("ω A_E + (1−ω) A_S = %g × %s + %s × %s", c.Omega, Number(e.EpisodeAdvantage), Number(1-c.Omega), Number(e.StepAdvantage))
	case combines(c.Estimator):
		return fmt.Sprintf("A_E + ω A_S = %s + %g × %s", Number(e.EpisodeAdvantage), c.Omega, Number(e.StepAdvantage))
	case c.Estimator == "gae":
		return "the sum of (γλ)^k (r + γ V' − V) over the steps from here"
	case c.Estimator == "hgpo":
		return "the weighted mean of the levels"
	case c.Estimator == "gagpo":
		return "(A_S − mean of the group) / F, A_S the sum of (γλ)^k (r + γ V' − V) over the steps from here"
	case c.Estimator == "gdpo":
		return "(A_E − mean) / deviation of the batch, A_E the weighted sum of the rewards, each compared by itself"
	case c.Estimator == "tree":
		return "A_S of the last state with several continuations, the same for all steps up to the next one"
	case c.Estimator == "vine" && e.Tree != nil && e.Tree.Of != "":
		return "0: branches are evidence for the episode that they left"
	case c.Estimator == "vine":
		return "what the steps from one valued state to the next achieved, less the first of the two values"
	case c.Estimator == "counterfactual" && e.StepTerm == nil:
		return "0: no branch tried another action here, so the learner skips the step"
	case c.Estimator == "counterfactual":
		return "(1 − p) (G − mean G of the branches that took another action)"
	case c.Estimator == "rae":
		return "A_E of the role in this trajectory, the same for all steps of the role"
	case c.Estimator == "reinforce_pp_baseline":
		return "(A_E − mean) / deviation of the batch"
	case c.Estimator == whitening:
		return "(G − mean) / deviation of the batch"
	}
	return "A_E of the trajectory, the same for all its steps"
}

// combines reports whether an estimator joins an episode and a step advantage.
func combines(estimator string) bool {
	return slices.Contains([]string{"gigpo", "graphgpo", "tigpo", "g2po"}, estimator)
}

// EpisodeOf returns the name of the value that A_E compares.
func (e *Explanation) EpisodeOf() string {
	if combines(e.Config.Estimator) && e.Config.Whitens() {
		return "G"
	}
	return "R"
}

// StepOf returns the name of the value that A_S compares.
func (e *Explanation) StepOf() string {
	switch e.Config.Estimator {
	case "graphgpo", "tigpo":
		return "q"
	case "g2po":
		return "V'"
	case "tree":
		return "S"
	case "vine":
		return "Q"
	case "gagpo":
		return "A_S"
	case "reinforce_pp_baseline", "gdpo":
		return "A_E"
	}
	return "G"
}

// StepName returns the name of what the comparison of StepTerm results in.
func (e *Explanation) StepName() string {
	if e.Config.Estimator == "gagpo" {
		return "A"
	}
	return "A_S"
}

// Formula writes the return with its numbers; NextIs describes G'.
func (r Return) Formula(gamma float64) string {
	penalty := ""
	if r.Penalty != 0 {
		penalty = fmt.Sprintf(" − %s for an invalid action", Number(r.Penalty))
	}
	return fmt.Sprintf("G = r + γ G' = %s + %g × %s%s = %s", Number(r.Reward), gamma, Number(r.Next), penalty, Number(r.Value))
}

// NextIs describes G' in the formula of the return.
func (e *Explanation) NextIs() string {
	switch {
	case e.Return.Bootstrap:
		return "G' is the critic's estimate of what follows"
	case e.Step == e.Steps-1:
		return "G' is 0: the trajectory ends here"
	}
	return "G' is the return from the next step, before its penalty"
}

// Formula writes the comparison with its numbers, for a person to check. Name is A_E or A_S;
// of is the compared value, R or G.
func (t *Term) Formula(name, of string) string {
	return fmt.Sprintf("%s = (%s − mean) / F = (%s − %s) / %s = %s", name, of, Number(t.Of), Number(t.Mean), Number(t.Divisor), Signed(t.Value))
}

// Number formats x with six significant digits, enough to check a sum by hand.
func Number(x float64) string { return strconv.FormatFloat(x, 'g', 6, 64) }

// Signed is Number with a plus sign before positive numbers.
func Signed(x float64) string {
	if x > 0 {
		return "+" + Number(x)
	}
	return Number(x)
}
