package answer_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/sdk/answer"
)

// polynomial is a polynomial in x by its coefficients, the constant first.
type polynomial []int

func (p polynomial) times(q polynomial) polynomial {
	out := make(polynomial, len(p)+len(q)-1)
	for i, a := range p {
		for k, b := range q {
			out[i+k] += a * b
		}
	}
	return out
}

// written writes the terms in a random order.
func (p polynomial) written(rng *rand.Rand) string {
	var terms []string
	for _, i := range rng.Perm(len(p)) {
		switch {
		case p[i] == 0:
		case i == 0:
			terms = append(terms, fmt.Sprintf("%+d", p[i]))
		case i == 1:
			terms = append(terms, fmt.Sprintf("%+dx", p[i]))
		default:
			terms = append(terms, fmt.Sprintf("%+dx^{%d}", p[i], i))
		}
	}
	return strings.TrimPrefix(strings.Join(append(terms, ""), " "), "+")
}

// factors are some linear and quadratic polynomials, as a product and expanded.
func factors(rng *rand.Rand) (product string, expanded polynomial) {
	expanded = polynomial{1}
	for range 1 + rng.IntN(4) {
		f := polynomial{rng.IntN(19) - 9, 1 + rng.IntN(5)}
		if rng.IntN(3) == 0 {
			f = append(f, 1+rng.IntN(4))
		}
		product += "(" + f.written(rng) + ")"
		expanded = expanded.times(f)
	}
	return product, expanded
}

// Promise: an expression equals each form of itself, and differs from one in which a single
// coefficient is changed. The error bound of every "equal" is at most 2^-60. An exponential
// whose values are all too large or too small has no verdict, and never a wrong one.
func TestForms(t *testing.T) {
	rng := rand.New(rand.NewPCG(30, 4))
	undecided := 0
	for range 3000 {
		product, p := factors(rng)
		other := append(polynomial{}, p...)
		other[rng.IntN(len(p))] += 1 + rng.IntN(3)
		c := 2 + rng.IntN(7)
		for _, form := range []struct{ gold, same, changed string }{
			{product, p.written(rng), other.written(rng)},
			{`\frac{` + p.written(rng) + "}{" + fmt.Sprint(c) + "}", `\frac1{` + fmt.Sprint(c) + "}" + product, `\frac1{` + fmt.Sprint(c) + "}(" + other.written(rng) + ")"},
			{"y = " + p.written(rng), fmt.Sprintf("%dy - %d(%s) = 0", c, c, product), fmt.Sprintf("%dy - %d(%s) = 0", c, c, other.written(rng))},
			{`e^{` + product + "}", `\exp(` + p.written(rng) + ")", `\exp(` + other.written(rng) + ")"},
		} {
			same, changed := answer.Check(form.gold, `\boxed{`+form.same+"}"), answer.Check(form.gold, `\boxed{`+form.changed+"}")
			if form.gold[0] == 'e' && (same.Outcome == answer.Unknown || changed.Outcome == answer.Unknown) {
				undecided++
				require.NotEqual(t, answer.Different, same.Outcome, form.gold)
				require.NotEqual(t, answer.Equal, changed.Outcome, form.gold)
				continue
			}
			require.Equal(t, answer.Equal, same.Outcome, "%s and %s: %+v", form.gold, form.same, same)
			require.LessOrEqual(t, same.Error, 1.0/(1<<60))
			require.Equal(t, answer.Different, changed.Outcome, "%s and %s: %+v", form.gold, form.changed, changed)
		}
	}
	t.Logf("%d exponentials without a verdict", undecided)
	require.Less(t, undecided, 30)
}

// Promise: a number equals itself in every notation, and no other number in any.
func TestNotations(t *testing.T) {
	rng := rand.New(rand.NewPCG(30, 5))
	for range 3000 {
		n, d := 1+rng.IntN(400), 2+rng.IntN(60)
		notations := func(n, d int) []string {
			return []string{
				fmt.Sprintf(`\frac{%d}{%d}`, 3*n, 3*d), fmt.Sprintf(`%d/%d`, n, d), fmt.Sprintf(`%d\frac{%d}{%d}`, n/d, n%d, d), fmt.Sprintf(`\frac{%d}{%d}\%%`, 100*n, d),
				fmt.Sprintf(`\sqrt{\frac{%d}{%d}}`, n*n, d*d), fmt.Sprintf(`\frac{%d\sqrt{3}}{%d\sqrt{3}}`, n, d), fmt.Sprintf(`-\frac{%d}{%d}`, -n, d), fmt.Sprintf(`\log_2 2^{%d/%d}`, n, d),
			}
		}
		gold := notations(n, d)[rng.IntN(3)]
		if n%d == 0 || n < d {
			gold = notations(n, d)[rng.IntN(2)]
		}
		for i, same := range notations(n, d) {
			if (n%d == 0 || n < d) && i == 2 || i == 6 && n < 0 {
				continue
			}
			v := answer.Check(gold, `\boxed{`+same+"}")
			require.Equal(t, answer.Equal, v.Outcome, "%s and %s: %+v", gold, same, v)
		}
		for i, changed := range notations(n+1, d) {
			if ((n+1)%d == 0 || n+1 < d) && i == 2 {
				continue
			}
			v := answer.Check(gold, `\boxed{`+changed+"}")
			require.Equal(t, answer.Different, v.Outcome, "%s and %s: %+v", gold, changed, v)
		}
	}
}

// Promise: a quantity equals itself in another unit of its dimension, and differs from the
// same number in another unit.
func TestUnitsOfOneDimension(t *testing.T) {
	rng := rand.New(rand.NewPCG(30, 6))
	dimensions := [][]struct {
		name string
		size int
	}{
		{{`\text{ mm}`, 1}, {`\text{ cm}`, 10}, {`\,\mathrm{m}`, 1000}, {" km", 1000_000}},
		{{" g", 1}, {`\text{ kg}`, 1000}, {" tonnes", 1000_000}},
		{{" seconds", 1}, {`\text{ min}`, 60}, {" hours", 3600}, {" days", 86400}},
		{{" cents", 1}, {" dollars", 100}},
		{{`\text{ mm}^2`, 1}, {`\text{ cm}^{2}`, 100}, {" square meters", 1000_000}},
	}
	for range 3000 {
		units := dimensions[rng.IntN(len(dimensions))]
		p := rng.Perm(len(units))
		a, b := units[p[0]], units[p[1]]
		n := 1 + rng.IntN(500)
		gold, same := fmt.Sprint(n*b.size)+a.name, fmt.Sprint(n*a.size)+b.name
		require.Equal(t, answer.Equal, answer.Check(gold, `\boxed{`+same+"}").Outcome, "%s and %s", gold, same)
		other := fmt.Sprint(n*b.size) + b.name
		require.Equal(t, answer.Different, answer.Check(gold, `\boxed{`+other+"}").Outcome, "%s and %s", gold, other)
	}
}
