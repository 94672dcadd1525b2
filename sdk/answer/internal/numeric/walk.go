// Package numeric evaluates expressions at fixed pseudo-random points: first in
// float64 with a bound of the error, which proves what differs, then in 320 bits,
// which shows what agrees.
package numeric

import (
	"hash/fnv"
	"math"
	"strings"

	"github.com/merit-rl/merit/sdk/answer/internal/rat"
	"github.com/merit-rl/merit/sdk/answer/internal/syntax"
)

// field is arithmetic on complex numbers of some precision. A method's second
// result is false where there is no value.
type field[T any] interface {
	Rat(r rat.Rat) T
	Pi() T
	I() T
	Add(a, b T) T
	Mul(a, b T) T
	Inv(a T) (T, bool)
	Sqrt(a T) (T, bool)
	Exp(a T) (T, bool)
	Log(a T) (T, bool)
	Real(a T) (x T, isReal, ok bool) // the real part, whether the imaginary part is zero
	Imag(a T) T
	Sign(a T) (int, bool) // of the real part
	Floor(a T) (T, bool)
	Near(a T) complex128
	Finite(a T) bool // false if a is too large to compute with
}

// walker evaluates a tree. Trial chooses the point.
type walker[T any] struct {
	field[T]
	trial  int
	steps  *int
	opaque *bool // a function without a definition was met
}

func (w *walker[T]) eval(n *syntax.Node) (v T, ok bool) {
	if *w.steps--; *w.steps < 0 {
		return v, false
	}
	v, ok = w.value(n)
	return v, ok && w.Finite(v)
}

func (w *walker[T]) value(n *syntax.Node) (v T, ok bool) {
	switch n.Kind {
	case syntax.Number:
		return w.Rat(n.Num), n.Num.OK()
	case syntax.Symbol:
		return w.variable(n.Name), true
	case syntax.Constant:
		return w.constant(n.Name)
	case syntax.Sum, syntax.Product:
		return w.fold(n)
	case syntax.Power:
		return w.power(n.Args[0], n.Args[1])
	case syntax.Call:
		return w.call(n)
	}
	return v, false
}

// variable is the value of a variable at the trial.
func (w *walker[T]) variable(name string) T {
	switch f := any(w.field).(type) {
	case residues:
		return any(draw(name, f.trial)).(T)
	}
	if w.trial >= wholePoints {
		return w.Rat(rat.Int(int64(draw(name, w.trial) % 13)))
	}
	return w.Rat(point(name, w.trial))
}

// wholePoints is the first trial at whole numbers from 0 to 12, for factorials.
const wholePoints = 100

// smallPoints is the first trial at numbers below 0.55, for functions such as arcsin.
const smallPoints = 8

// point is the value of a variable at a trial: a rational number from 0.3 to 4.3, an
// eighth of it from smallPoints on, negative in every odd trial.
func point(name string, trial int) rat.Rat {
	h := fnv.New64a()
	h.Write([]byte(name))
	h.Write([]byte{byte(trial), 0x5b})
	k := int64(h.Sum64()>>20&0xfff) + 300
	if trial%2 == 1 {
		k = -k
	}
	if trial >= smallPoints {
		k /= 8
	}
	return rat.Frac(k, 1024)
}

func (w *walker[T]) constant(name string) (v T, ok bool) {
	switch name {
	case "pi":
		return w.Pi(), true
	case "i":
		return w.I(), true
	case "e":
		return w.Exp(w.Rat(rat.Int(1)))
	}
	return v, false
}

func (w *walker[T]) fold(n *syntax.Node) (v T, ok bool) {
	for i, arg := range n.Args {
		a, ok := w.eval(arg)
		switch {
		case !ok:
			return v, false
		case i == 0:
			v = a
		case n.Kind == syntax.Sum:
			v = w.Add(v, a)
		default:
			v = w.Mul(v, a)
		}
		if !w.Finite(v) {
			return v, false
		}
	}
	return v, len(n.Args) > 0
}

// mostPower bounds whole exponents that are computed by multiplication.
const mostPower = 4096

func (w *walker[T]) power(base, exponent *syntax.Node) (v T, ok bool) {
	b, ok := w.eval(base)
	if !ok {
		return v, false
	}
	if exponent.Kind == syntax.Number {
		if k, whole := exponent.Num.Int64(); whole && k >= -mostPower && k <= mostPower {
			return w.whole(b, k)
		}
		if n, d, small := exponent.Num.Words(); small && d > 1 && d < 64 && n >= -mostPower && n <= mostPower {
			r, ok := w.root(b, d)
			if !ok {
				return v, false
			}
			return w.whole(r, n)
		}
	}
	e, ok := w.eval(exponent)
	if !ok {
		return v, false
	}
	if base.Kind == syntax.Constant && base.Name == "e" {
		return w.Exp(e)
	}
	l, ok := w.Log(b)
	if !ok {
		return v, false
	}
	return w.Exp(w.Mul(l, e))
}

func (w *walker[T]) whole(b T, k int64) (v T, ok bool) {
	if k < 0 {
		b, ok = w.Inv(b)
		if !ok {
			return v, false
		}
		k = -k
	}
	v = w.Rat(rat.Int(1))
	for ; k > 0; k >>= 1 {
		if k&1 == 1 {
			v = w.Mul(v, b)
		}
		if k > 1 {
			b = w.Mul(b, b)
		}
		if !w.Finite(v) || !w.Finite(b) {
			return v, false
		}
	}
	return v, true
}

// root is the n-th root: the real one of a real number if there is one.
func (w *walker[T]) root(b T, n int64) (v T, ok bool) {
	if n == 2 {
		return w.Sqrt(b)
	}
	if n%2 == 1 {
		if _, isReal, ok := w.Real(b); ok && isReal {
			if s, ok := w.Sign(b); ok && s < 0 {
				r, ok := w.root(w.neg(b), n)
				return w.neg(r), ok
			}
		}
	}
	if x, isReal, _ := w.Real(b); isReal && w.Near(x) == 0 {
		return b, n > 0
	}
	l, ok := w.Log(b)
	if !ok {
		return v, false
	}
	return w.Exp(w.Mul(l, w.Rat(rat.Frac(1, n))))
}

func (w *walker[T]) neg(a T) T { return w.Mul(w.Rat(rat.Int(-1)), a) }

func (w *walker[T]) call(n *syntax.Node) (v T, ok bool) {
	if (n.Name == "sum" || n.Name == "prod") && len(n.Args) == 4 {
		return w.series(n)
	}
	args := make([]T, len(n.Args))
	for i, arg := range n.Args {
		if n.Name == "sin" || n.Name == "cos" || n.Name == "tan" || n.Name == "cot" || n.Name == "sec" || n.Name == "csc" {
			arg = radians(arg)
		}
		if args[i], ok = w.eval(arg); !ok {
			return v, false
		}
	}
	if len(args) == 1 {
		if v, ok, known := w.unary(n.Name, args[0]); known {
			return v, ok
		}
	}
	if len(args) > 1 {
		if v, ok, known := w.several(n.Name, args); known {
			return v, ok
		}
	}
	return w.unknown(n.Name, args)
}

// longestSeries bounds the terms of a sum at a point.
const longestSeries = 64

// series is a sum or product over an index whose limits are whole at the point.
func (w *walker[T]) series(n *syntax.Node) (v T, ok bool) {
	from, ok1 := w.integer(n.Args[2])
	to, ok2 := w.integer(n.Args[3])
	if !ok1 || !ok2 || to < from-1 || to-from > longestSeries {
		return v, false
	}
	v = w.Rat(rat.Int(int64(len(n.Name) - len("sum")))) // 0 or 1
	for k := from; k <= to; k++ {
		t, ok := w.eval(bind(n.Args[0], n.Args[1].Name, syntax.Int(k)))
		switch {
		case !ok:
			return v, false
		case n.Name == "sum":
			v = w.Add(v, t)
		default:
			v = w.Mul(v, t)
		}
		if !w.Finite(v) {
			return v, false
		}
	}
	return v, true
}

// integer is the value of an expression if it is whole.
func (w *walker[T]) integer(n *syntax.Node) (int64, bool) {
	v, ok := w.eval(n)
	if !ok {
		return 0, false
	}
	z := w.Near(v)
	k := math.Round(real(z))
	return int64(k), math.Abs(real(z)-k) < 1e-9 && math.Abs(imag(z)) < 1e-9 && math.Abs(k) < 1<<31
}

// bind puts v for a variable.
func bind(n *syntax.Node, name string, v *syntax.Node) *syntax.Node {
	if n.Kind == syntax.Symbol && n.Name == name {
		return v
	}
	if len(n.Args) == 0 {
		return n
	}
	m := *n
	m.Args = make([]*syntax.Node, len(n.Args))
	for i, a := range n.Args {
		m.Args[i] = bind(a, name, v)
	}
	return &m
}

// radians turns degrees into radians: \sin 30^\circ.
func radians(n *syntax.Node) *syntax.Node {
	switch {
	case n.Kind == syntax.Call && n.Name == "degree":
		return syntax.Times(n.Args[0], syntax.Over(&syntax.Node{Kind: syntax.Constant, Name: "pi"}, syntax.Int(180)))
	case n.Kind == syntax.Sum || n.Kind == syntax.Product:
		m := *n
		m.Args = make([]*syntax.Node, len(n.Args))
		for i, a := range n.Args {
			m.Args[i] = radians(a)
		}
		return &m
	}
	return n
}

// unknown is the value of a function without a definition: pseudo-random, the
// same for the same arguments.
func (w *walker[T]) unknown(name string, args []T) (v T, ok bool) {
	if !strings.HasPrefix(name, "fn:") || len(name) > len("fn:f''") {
		*w.opaque = true // a sum, an integral, gamma: it has a value, which is not known here
	}
	h := fnv.New64a()
	h.Write([]byte(name))
	for _, a := range args {
		z := w.Near(a)
		for _, x := range []float64{real(z), imag(z)} {
			if math.IsNaN(x) || math.IsInf(x, 0) {
				return v, false
			}
			m, e := math.Frexp(x)
			if math.Abs(x) < 1e-9 {
				m, e = 0, 0
			}
			q := int64(math.Round(m*(1<<30))) + int64(e)<<40
			h.Write([]byte{byte(q), byte(q >> 8), byte(q >> 16), byte(q >> 24), byte(q >> 32), byte(q >> 40), byte(q >> 48)})
		}
	}
	return w.Rat(rat.Frac(int64(h.Sum64()>>20&0xfffff)+300, 1<<18)), true
}
