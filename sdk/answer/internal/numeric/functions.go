package numeric

import "github.com/merit-rl/merit/sdk/answer/internal/rat"

// unary is a function of one argument; known is false for a name without a definition.
func (w *walker[T]) unary(name string, a T) (v T, ok, known bool) {
	known = true
	switch name {
	case "sin", "cos", "tan", "cot", "sec", "csc":
		v, ok = w.trigonometric(name, a)
	case "sinh", "cosh", "tanh", "coth":
		v, ok = w.hyperbolic(name, a)
	case "arcsin", "arccos", "arctan", "arccot", "arcsec", "arccsc":
		v, ok = w.inverse(name, a)
	case "arcsinh", "arccosh", "arctanh":
		v, ok = w.inverseHyperbolic(name, a)
	case "exp":
		v, ok = w.Exp(a)
	case "abs", "norm":
		v, ok = w.abs(a)
	case "floor":
		v, ok = w.Floor(a)
	case "ceil":
		v, ok = w.Floor(w.neg(a))
		v = w.neg(v)
	case "degree", "deg":
		v, ok = a, true
	case "percent":
		v, ok = w.Mul(a, w.Rat(rat.Frac(1, 100))), true
	case "Re":
		v, _, ok = w.Real(a)
	case "Im":
		v, ok = w.Imag(a), true
	case "cis":
		v, ok = w.Exp(w.Mul(a, w.I()))
	case "factorial":
		v, ok, known = w.factorial(a)
	case "max", "min":
		v, ok = a, true
	default:
		known = false
	}
	return v, ok, known
}

// several is a function of more than one argument.
func (w *walker[T]) several(name string, a []T) (v T, ok, known bool) {
	known = true
	switch name {
	case "binomial":
		v, ok, known = w.binomial(a[0], a[1])
	case "root":
		v, ok = w.nthRoot(a[0], a[1])
	case "log":
		v, ok = w.logarithm(a[0], a[1])
	case "max", "min":
		v, ok = w.extreme(name, a)
	case "ratio":
		v, ok = a[0], true
		for _, b := range a[1:] {
			if b, ok = w.Inv(b); !ok {
				break
			}
			v = w.Mul(v, b)
		}
	default:
		known = false
	}
	return v, ok, known
}

func (w *walker[T]) over(a, b T, okA, okB bool) (v T, ok bool) {
	if !okA || !okB {
		return v, false
	}
	b, ok = w.Inv(b)
	if !ok {
		return v, false
	}
	return w.Mul(a, b), true
}

// real drops the imaginary part of a function of a real argument.
func (w *walker[T]) realOf(v, argument T) T {
	if _, isReal, ok := w.Real(argument); ok && isReal {
		x, _, _ := w.Real(v)
		return x
	}
	return v
}

func (w *walker[T]) sinCos(a T) (sin, cos T, ok bool) {
	up, ok1 := w.Exp(w.Mul(a, w.I()))
	down, ok2 := w.Exp(w.neg(w.Mul(a, w.I())))
	if !ok1 || !ok2 {
		return sin, cos, false
	}
	half := w.Rat(rat.Frac(1, 2))
	cos = w.Mul(half, w.Add(up, down))
	sin = w.neg(w.Mul(w.Mul(half, w.I()), w.Add(up, w.neg(down))))
	return w.realOf(sin, a), w.realOf(cos, a), true
}

func (w *walker[T]) trigonometric(name string, a T) (v T, ok bool) {
	sin, cos, ok := w.sinCos(a)
	if !ok {
		return v, false
	}
	switch name {
	case "sin":
		return sin, true
	case "cos":
		return cos, true
	case "tan":
		return w.over(sin, cos, true, true)
	case "cot":
		return w.over(cos, sin, true, true)
	case "sec":
		return w.Inv(cos)
	}
	return w.Inv(sin)
}

func (w *walker[T]) hyperbolic(name string, a T) (v T, ok bool) {
	up, ok1 := w.Exp(a)
	down, ok2 := w.Exp(w.neg(a))
	if !ok1 || !ok2 {
		return v, false
	}
	half := w.Rat(rat.Frac(1, 2))
	cosh, sinh := w.Mul(half, w.Add(up, down)), w.Mul(half, w.Add(up, w.neg(down)))
	switch name {
	case "sinh":
		return sinh, true
	case "cosh":
		return cosh, true
	case "tanh":
		return w.over(sinh, cosh, true, true)
	}
	return w.over(cosh, sinh, true, true)
}

// inverse is arcsin z = -i log(iz + sqrt(1 - z^2)) and what follows from it.
func (w *walker[T]) inverse(name string, a T) (v T, ok bool) {
	half := w.Mul(w.Pi(), w.Rat(rat.Frac(1, 2)))
	switch name {
	case "arcsec", "arccsc":
		if a, ok = w.Inv(a); !ok {
			return v, false
		}
		return w.inverse(map[string]string{"arcsec": "arccos", "arccsc": "arcsin"}[name], a)
	case "arccos", "arccot":
		v, ok = w.inverse(map[string]string{"arccos": "arcsin", "arccot": "arctan"}[name], a)
		return w.Add(half, w.neg(v)), ok
	case "arctan":
		return w.arctan(a)
	}
	one := w.Rat(rat.Int(1))
	s, ok := w.Sqrt(w.Add(one, w.neg(w.Mul(a, a))))
	if !ok {
		return v, false
	}
	_, argReal, _ := w.Real(a)
	_, rootReal, _ := w.Real(s)
	l, ok := w.Log(w.Add(w.Mul(w.I(), a), s))
	v = w.neg(w.Mul(w.I(), l))
	if argReal && rootReal {
		v, _, _ = w.Real(v)
	}
	return v, ok
}

// arctan z = (log(1 + iz) - log(1 - iz)) / 2i.
func (w *walker[T]) arctan(a T) (v T, ok bool) {
	one, ia := w.Rat(rat.Int(1)), w.Mul(w.I(), a)
	p, ok1 := w.Log(w.Add(one, ia))
	m, ok2 := w.Log(w.Add(one, w.neg(ia)))
	if !ok1 || !ok2 {
		return v, false
	}
	v = w.Mul(w.Mul(w.Rat(rat.Frac(-1, 2)), w.I()), w.Add(p, w.neg(m)))
	return w.realOf(v, a), true
}

func (w *walker[T]) inverseHyperbolic(name string, a T) (v T, ok bool) {
	one := w.Rat(rat.Int(1))
	switch name {
	case "arctanh":
		q, ok := w.over(w.Add(one, a), w.Add(one, w.neg(a)), true, true)
		if !ok {
			return v, false
		}
		v, ok = w.Log(q)
		return w.Mul(w.Rat(rat.Frac(1, 2)), v), ok
	case "arccosh":
		one = w.neg(one)
	}
	s, ok := w.Sqrt(w.Add(w.Mul(a, a), one))
	if !ok {
		return v, false
	}
	return w.Log(w.Add(a, s))
}

func (w *walker[T]) abs(a T) (v T, ok bool) {
	x, isReal, ok := w.Real(a)
	if !ok {
		return v, false
	}
	if !isReal {
		y := w.Imag(a)
		return w.Sqrt(w.Add(w.Mul(x, x), w.Mul(y, y)))
	}
	s, ok := w.Sign(x)
	if s < 0 {
		x = w.neg(x)
	}
	return x, ok
}

func (w *walker[T]) nthRoot(a, index T) (v T, ok bool) {
	z := w.Near(index)
	if n := int64(real(z)); float64(n) == real(z) && imag(z) == 0 && n > 0 && n < 1000 {
		return w.root(a, n)
	}
	l, ok1 := w.Log(a)
	r, ok2 := w.Inv(index)
	if !ok1 || !ok2 {
		return v, false
	}
	return w.Exp(w.Mul(l, r))
}

func (w *walker[T]) logarithm(a, base T) (v T, ok bool) {
	x, ok1 := w.Log(a)
	b, ok2 := w.Log(base)
	return w.over(x, b, ok1, ok2)
}

func (w *walker[T]) extreme(name string, a []T) (v T, ok bool) {
	v = a[0]
	for _, b := range a[1:] {
		s, ok := w.Sign(w.Add(b, w.neg(v)))
		if !ok {
			return v, false
		}
		if s > 0 == (name == "max") {
			v = b
		}
	}
	return v, true
}

// binomial is defined for a small whole lower number here.
func (w *walker[T]) binomial(a, b T) (v T, ok, known bool) {
	z := w.Near(b)
	k := int64(real(z))
	if imag(z) != 0 || float64(k) != real(z) || k > 300 {
		return v, false, false
	}
	v = w.Rat(rat.Int(1))
	if k < 0 {
		return w.Rat(rat.Int(0)), true, true
	}
	for i := int64(0); i < k; i++ {
		v = w.Mul(v, w.Mul(w.Add(a, w.Rat(rat.Int(-i))), w.Rat(rat.Frac(1, i+1))))
	}
	return v, true, true
}

// factorial is defined for small whole numbers here; others are pseudo-random.
func (w *walker[T]) factorial(a T) (v T, ok, known bool) {
	z := w.Near(a)
	n := int64(real(z))
	if imag(z) != 0 || float64(n) != real(z) || n > 300 {
		return v, false, false
	}
	if n < 0 {
		return v, false, true
	}
	v = w.Rat(rat.Int(1))
	for k := int64(2); k <= n; k++ {
		v = w.Mul(v, w.Rat(rat.Int(k)))
	}
	return v, true, true
}
