package numeric

import (
	"math"
	"math/big"
	"math/cmplx"
	"slices"

	"github.com/merit-rl/merit/sdk/answer/internal/rat"
	"github.com/merit-rl/merit/sdk/answer/internal/syntax"
)

// Result is what an evaluation says about two expressions.
type Result uint8

// Unknown means that an expression has no value at the points, or that a function
// without a definition is in it and the values differ.
const (
	Unknown Result = iota
	Same
	Differ
)

// Bound is the stated probability that Same is wrong: two different expressions
// would agree in 200 bits at every point.
const Bound = 1.0 / (1 << 62)

// trials is how many points are tried with variables, enough how many must agree.
const (
	trials = 16
	enough = 3
	most   = 100 // bits before the point of a constant that is compared numerically
)

// Equal compares the values of two expressions without variables at once, and
// with variables at points of both signs where both are real.
func Equal(a, b *syntax.Node, steps *int) Result { return decide(a, b, steps, false) }

// Proportional tells whether a is a constant multiple of b other than zero, and
// whether the factor is positive.
func Proportional(a, b *syntax.Node, steps *int) (r Result, positive bool) {
	r = decide(a, b, steps, true)
	if r != Same {
		return r, false
	}
	var opaque bool
	w := &walker[ball]{balls{}, 0, steps, &opaque}
	for t := range trials {
		w.trial = t
		x, ok1 := w.eval(a)
		y, ok2 := w.eval(b)
		if ok1 && ok2 && cmplx.Abs(y.z) > 1e-9 {
			q := x.z / y.z
			return Same, real(q) > 0 && math.Abs(imag(q)) < 1e-9*math.Abs(real(q))
		}
	}
	return Unknown, false
}

// discrete are the functions that are compared at whole numbers.
var discrete = []string{"factorial", "binomial", "sum", "prod"}

func decide(a, b *syntax.Node, steps *int, ratio bool) Result {
	variables := hasSymbol(a) || hasSymbol(b)
	imaginary := hasImaginary(a) || hasImaginary(b)
	var opaque bool
	quick := &comparer[ball]{walker: walker[ball]{balls{}, 0, steps, &opaque}, ratio: ratio}
	exact := &comparer[precise]{walker: walker[precise]{high{}, 0, steps, &opaque}, ratio: ratio}
	agreed, complexOnly := 0, 0
	first := 0
	if variables && (hasCall(a, discrete...) || hasCall(b, discrete...)) {
		first = wholePoints
	}
	for t := first; t < first+trials+first/12; t++ {
		if !variables && t > 0 || t == smallPoints && agreed >= enough {
			break
		}
		quick.trial, exact.trial = t, t
		if quick.compare(a, b, imaginary || !variables) && quick.differ() {
			return differs(opaque)
		}
		if quick.unreal {
			complexOnly++
			continue
		}
		if agreed >= enough || !exact.compare(a, b, imaginary || !variables) {
			continue
		}
		switch unlike, known := exact.unlike(); {
		case !known:
			continue
		case unlike:
			return differs(opaque)
		}
		if !ratio && !variables && exponent(exact.x.re) > most {
			return Unknown // what is small beside it would be lost
		}
		agreed++
	}
	if agreed >= enough || !variables && agreed == 1 || agreed > 0 && complexOnly > 0 {
		return Same
	}
	return Unknown
}

func differs(opaque bool) Result {
	if opaque {
		return Unknown
	}
	return Differ
}

// comparer holds the two values at a point, or the two pairs for ratios.
type comparer[T any] struct {
	walker[T]
	ratio  bool
	x, y   T
	first  bool
	p, q   T // the values at the first point, for ratios
	unreal bool
}

// compare computes both sides; false if one has no value. With all, complex
// values count too.
func (c *comparer[T]) compare(a, b *syntax.Node, all bool) bool {
	c.unreal = false
	x, ok1 := c.eval(a)
	y, ok2 := c.eval(b)
	if !ok1 || !ok2 {
		return false
	}
	if _, r1, _ := c.Real(x); !all && !r1 {
		c.unreal = true
		return false
	}
	if _, r2, _ := c.Real(y); !all && !r2 {
		c.unreal = true
		return false
	}
	if !c.ratio {
		c.x, c.y = x, y
		return true
	}
	if !c.first {
		c.p, c.q, c.first = x, y, true
	}
	c.x, c.y = c.Mul(x, c.q), c.Mul(y, c.p)
	return true
}

// differ tells that the balls do not touch.
func (c *comparer[T]) differ() bool {
	x, y := any(c.x).(ball), any(c.y).(ball)
	return cmplx.Abs(x.z-y.z) > (x.e+y.e)*1.01+1e-300
}

// unlike tells that the precise values differ in the bits that must agree. It is not known
// if both are so small that they may be errors of rounding: e^{-500} and e^{-501}.
func (c *comparer[T]) unlike() (unlike, known bool) {
	x, y := any(c.x).(precise), any(c.y).(precise)
	d := precise{float().Sub(x.re, y.re), float().Sub(x.im, y.im)}
	a, b := max(exponent(x.re), exponent(x.im)), max(exponent(y.re), exponent(y.im))
	scale := max(a, b)
	differ := scale != zero && max(exponent(d.re), exponent(d.im)) > scale-agreement
	switch {
	case scale >= -agreement || !differ:
		return differ, true
	case min(a, b) == zero: // beside a true zero, less than any error of rounding is not zero
		return scale < -4*agreement, true
	}
	return false, false
}

// zero is the exponent of zero.
const zero = -1 << 30

func exponent(x *big.Float) int {
	if x.Sign() == 0 {
		return zero
	}
	return x.MantExp(nil)
}

func hasSymbol(n *syntax.Node) bool {
	if n.Kind == syntax.Symbol {
		return true
	}
	for _, a := range n.Args {
		if hasSymbol(a) {
			return true
		}
	}
	return false
}

func hasCall(n *syntax.Node, names ...string) bool {
	if n.Kind == syntax.Call && slices.Contains(names, n.Name) {
		return true
	}
	for _, a := range n.Args {
		if hasCall(a, names...) {
			return true
		}
	}
	return false
}

func hasImaginary(n *syntax.Node) bool {
	if n.Kind == syntax.Constant && n.Name == "i" {
		return true
	}
	for _, a := range n.Args {
		if hasImaginary(a) {
			return true
		}
	}
	return false
}

// Value is the float64 of a real expression without variables, for sorting.
func Value(n *syntax.Node, steps *int) (float64, bool) {
	if n.Kind == syntax.Number && n.Num.OK() {
		return n.Num.Float(), true
	}
	if hasSymbol(n) {
		return 0, false
	}
	var opaque bool
	w := &walker[ball]{balls{}, 0, steps, &opaque}
	v, ok := w.eval(n)
	if !ok || opaque || math.Abs(imag(v.z)) > v.e+1e-12 {
		return 0, false
	}
	return real(v.z), true
}

// Rounded is the value of a real expression to places decimals, half to even.
func Rounded(n *syntax.Node, places int, steps *int) (rat.Rat, bool) {
	if n.Kind == syntax.Number {
		return Round(n.Num, places), n.Num.OK()
	}
	if hasSymbol(n) {
		return rat.Rat{}, false
	}
	var opaque bool
	w := &walker[precise]{high{}, 0, steps, &opaque}
	v, ok := w.eval(n)
	if !ok || opaque || !tiny(v.im) {
		return rat.Rat{}, false
	}
	if v.re.MantExp(nil) > 4096 || v.re.MantExp(nil) < -4096 && v.re.Sign() != 0 {
		return rat.Rat{}, false
	}
	r, _ := v.re.Rat(nil)
	return Round(rat.FromBig(r), places), true
}

// Round rounds r to places decimals, half to even.
func Round(r rat.Rat, places int) rat.Rat {
	scaled := r.Mul(rat.Ten(places))
	floor := scaled.Floor()
	switch d := scaled.Sub(floor); d.Cmp(rat.Frac(1, 2)) {
	case 1:
		floor = floor.Add(rat.Int(1))
	case 0:
		if !floor.Mul(rat.Frac(1, 2)).IsInt() {
			floor = floor.Add(rat.Int(1))
		}
	}
	return floor
}
