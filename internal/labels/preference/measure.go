package preference

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/stats"
	"github.com/merit-rl/merit/internal/labels/label"
)

// Result says how often raters prefer one policy to another.
type Result struct {
	// Preferred is the share of the answers that prefer the later policy; an answer that
	// prefers neither counts half. Interval is its 95 % interval, clustered by start, and
	// PValue that of no preference.
	Preferred float64    `json:"preferred"`
	Interval  [2]float64 `json:"interval"`
	PValue    float64    `json:"p_value"`
	Answers   int        `json:"answers"` // newest answers of each rater, without skipped ones
	Equal     int        `json:"equal"`   // of those, how many prefer neither
	Skipped   int        `json:"skipped"`
	Pairs     int        `json:"pairs"`      // pairs with an answer
	Of        int        `json:"of"`         // all pairs whose contents differ
	Starts    int        `json:"starts"`     // starts of the pairs with an answer
	Same      int        `json:"same_pairs"` // pairs that nobody is asked, because both did the same
	Alone     int        `json:"unpaired"`   // episodes without a counterpart from the same start
	Raters    []Rater    `json:"raters"`     // by name
	Agreement []Between  `json:"agreement"`  // of every two raters with common pairs
}

// Rater counts the answers of a rater.
type Rater struct {
	Name    string `json:"name"`
	Answers int    `json:"answers"`
}

// Between is the agreement of two raters.
type Between struct {
	A string `json:"a"`
	B string `json:"b"`
	label.Agreement
}

// Find returns the preferences between two policies from a file of answers: see Read and
// Measure. If file is empty, it is the default one, and the result is nil if it has no
// answers about the two.
func Find(before, after, file string) (*Result, error) {
	path := cmp.Or(file, Place(after))
	if _, err := os.Stat(path); file == "" && errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	pairs, err := Read(before, after)
	if err != nil {
		return nil, err
	}
	r, err := Measure(pairs, path)
	if file == "" && errors.Is(err, fault.Of(fault.Data, fault.Missing)) {
		return nil, nil
	}
	return r, err
}

// Measure computes how often the answers in a file prefer the later policy of the pairs.
// Answers about other pairs do not count: one file may hold those of several comparisons.
// It is an error if none counts.
func Measure(p *Pairs, path string) (*Result, error) {
	answers, err := ReadAnswers(path)
	if err != nil {
		return nil, err
	}
	known := map[string]*Pair{}
	for i := range p.All {
		known[p.All[i].ID] = &p.All[i]
	}
	newest := map[[2]string]Answer{}
	for i, a := range answers {
		if p := known[a.Pair]; p != nil && !p.shown(&a) {
			return nil, &fault.Error{Boundary: fault.Data, Kind: fault.Corrupt, Where: fmt.Sprintf("%s:%d", path, i+1), What: "the episodes are not those of the pair", Hint: "remove the line, or restore the file"}
		} else if p != nil {
			newest[[2]string{a.Rater, a.Pair}] = a
		}
	}
	r := &Result{Of: len(p.All), Same: p.Same, Alone: p.Alone, Raters: []Rater{}, Agreement: []Between{}}
	r.count(known, newest)
	if r.Answers == 0 {
		return nil, &fault.Error{
			Boundary: fault.Data, Kind: fault.Missing, Where: path, What: "no answer is about the episodes of these two policies",
			Hint: "ask people about them, or name the file that holds their answers",
		}
	}
	return r, nil
}

// count computes everything from the newest answers, by rater and pair.
func (r *Result) count(known map[string]*Pair, newest map[[2]string]Answer) {
	keys := slices.SortedFunc(maps.Keys(newest), func(a, b [2]string) int { return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1])) })
	var x []float64
	var starts []string
	pairs, said := map[string]bool{}, map[string]map[string]string{}
	for _, k := range keys {
		a, p := newest[k], known[k[1]]
		if a.Choice == Skip {
			r.Skipped++
			continue
		}
		preferred := a.preferred()
		x, starts = append(x, p.score(preferred)), append(starts, p.Start)
		pairs[p.ID] = true
		if preferred == "" {
			r.Equal++
		}
		if said[a.Rater] == nil {
			said[a.Rater] = map[string]string{}
		}
		said[a.Rater][p.ID] = p.side(preferred)
	}
	if r.Answers, r.Pairs = len(x), len(pairs); len(x) == 0 {
		return
	}
	clusters := stats.ClusterBy(starts)
	w := clusters.Wins(x)
	r.Preferred, r.Interval, r.PValue = w.Rate, [2]float64{w.Low, w.High}, w.PValue
	r.Starts = slices.Max(clusters) + 1
	r.raters(said)
}

// preferred returns the digest of the preferred episode, or "".
func (a *Answer) preferred() string {
	return map[Choice]string{Left: a.Left, Right: a.Right}[a.Choice]
}

// shown reports whether an answer is about the episodes of p.
func (p *Pair) shown(a *Answer) bool {
	return min(a.Left, a.Right) == min(p.Before.Digest, p.After.Digest) && max(a.Left, a.Right) == max(p.Before.Digest, p.After.Digest)
}

func (p *Pair) score(preferred string) float64 {
	return map[string]float64{p.After.Digest: 1, p.Before.Digest: 0, "": 0.5}[preferred]
}

// side names an answer in a way that is unrelated to policies. Otherwise raters would seem to
// agree by chance if one policy is better.
func (p *Pair) side(preferred string) string {
	switch preferred {
	case "":
		return "equal"
	case min(p.Before.Digest, p.After.Digest):
		return "lower"
	}
	return "higher"
}

// raters counts the answers of each rater, and compares every two.
func (r *Result) raters(said map[string]map[string]string) {
	names := slices.Sorted(maps.Keys(said))
	for i, a := range names {
		r.Raters = append(r.Raters, Rater{a, len(said[a])})
		for _, b := range names[i+1:] {
			var x, y []string
			for _, pair := range slices.Sorted(maps.Keys(said[a])) {
				if other := said[b][pair]; other != "" {
					x, y = append(x, said[a][pair]), append(y, other)
				}
			}
			if len(x) > 0 {
				r.Agreement = append(r.Agreement, Between{a, b, label.Agree(x, y)})
			}
		}
	}
}

// Sentences says the result, and how far every two raters agree.
func (r *Result) Sentences() []string {
	var b strings.Builder
	fmt.Fprintf(&b, "preferred in %.0f %% [%.0f, %.0f], p = %.2g: %s by %s about %d of %s; %s half",
		100*r.Preferred, 100*r.Interval[0], 100*r.Interval[1], r.PValue, counted(r.Answers, "answer"), counted(len(r.Raters), "rater"),
		r.Pairs, counted(r.Of, "pair"), counted(r.Equal, "tie counts", "ties count"))
	if r.Skipped > 0 {
		fmt.Fprintf(&b, "; %d skipped", r.Skipped)
	}
	if r.Same > 0 {
		fmt.Fprintf(&b, "; %s not asked, because both policies did the same", counted(r.Same, "pair was", "pairs were"))
	}
	if r.Alone > 0 {
		fmt.Fprintf(&b, "; %s no counterpart from the same start", counted(r.Alone, "episode has", "episodes have"))
	}
	fmt.Fprintf(&b, "; 95 %% clustered by %s", counted(r.Starts, "start"))
	out := []string{b.String()}
	for _, x := range r.Agreement {
		text := fmt.Sprintf("%s and %s agree on %d of %s", x.A, x.B, x.Same, counted(x.Items, "pair"))
		if x.Kappa != nil {
			text += fmt.Sprintf(", κ = %.2f [%.2f, %.2f]", *x.Kappa, *x.Low, *x.High)
		}
		out = append(out, text)
	}
	return out
}

// counted returns a number with a noun, in the plural unless it is 1.
func counted(n int, one string, many ...string) string {
	word := one + "s"
	switch {
	case n == 1:
		word = one
	case len(many) > 0:
		word = many[0]
	}
	return fmt.Sprintf("%d %s", n, word)
}
