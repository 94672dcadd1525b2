package numeric

import (
	"github.com/merit-rl/merit/sdk/answer/internal/rat"
	"github.com/merit-rl/merit/sdk/answer/internal/syntax"
)

// Fold is the exact value of an expression of rational numbers: sums, products,
// whole powers, factorials, binomial coefficients, roots that are rational.
func Fold(n *syntax.Node, steps *int) (rat.Rat, bool) {
	f := folder{steps: steps}
	v := f.fold(n)
	return v, v.OK()
}

type folder struct {
	steps *int
	bound []binding // the indices of sums
}

type binding struct {
	name  string
	value rat.Rat
}

func (f *folder) fold(n *syntax.Node) rat.Rat {
	if *f.steps--; *f.steps < 0 {
		return rat.Rat{}
	}
	v := f.value(n)
	if _, _, small := v.Words(); !small {
		*f.steps -= longNumber
	}
	return v
}

// longNumber is what a number past machine words costs, in steps.
const longNumber = 20

func (f *folder) value(n *syntax.Node) rat.Rat {
	switch n.Kind {
	case syntax.Number:
		if n.Base == 0 {
			return n.Num
		}
	case syntax.Symbol:
		for i := len(f.bound) - 1; i >= 0; i-- {
			if f.bound[i].name == n.Name {
				return f.bound[i].value
			}
		}
	case syntax.Sum, syntax.Product:
		return f.operands(n)
	case syntax.Power:
		e := f.fold(n.Args[1])
		if !e.OK() {
			return e
		}
		b := f.fold(n.Args[0])
		if !b.OK() {
			return b
		}
		return power(b, e)
	case syntax.Call:
		return f.call(n)
	}
	return rat.Rat{}
}

func (f *folder) operands(n *syntax.Node) rat.Rat {
	v := f.fold(n.Args[0])
	for _, a := range n.Args[1:] {
		if !v.OK() {
			return v
		}
		if n.Kind == syntax.Sum {
			v = v.Add(f.fold(a))
		} else {
			v = v.Mul(f.fold(a))
		}
	}
	return v
}

func power(b, e rat.Rat) rat.Rat {
	if b.Sign() == 0 && e.Sign() <= 0 {
		return rat.Rat{}
	}
	if k, ok := e.Int64(); ok {
		return b.Pow(k)
	}
	n, d, ok := e.Words()
	if !ok {
		return rat.Rat{}
	}
	return root(b, d).Pow(n)
}

// root is the n-th root of b if it is a rational number.
func root(b rat.Rat, n int64) rat.Rat {
	if n == 1 {
		return b
	}
	if n < 1 || n > 64 || !b.OK() || b.Sign() < 0 && n%2 == 0 {
		return rat.Rat{}
	}
	if b.Sign() < 0 {
		return root(b.Neg(), n).Neg()
	}
	num, den, ok := b.Words()
	if !ok {
		return rat.Rat{}
	}
	p, q := wholeRoot(num, n), wholeRoot(den, n)
	if p < 0 || q < 0 {
		return rat.Rat{}
	}
	return rat.Frac(p, q)
}

// wholeRoot is the n-th root of x, or -1.
func wholeRoot(x, n int64) int64 {
	lo, hi := int64(0), int64(1)<<31
	for lo < hi {
		mid := lo + (hi-lo)/2
		p := rat.Int(mid).Pow(n)
		if !p.OK() || p.Cmp(rat.Int(x)) >= 0 {
			hi = mid
		} else {
			lo = mid + 1
		}
	}
	if p := rat.Int(lo).Pow(n); p.Equal(rat.Int(x)) {
		return lo
	}
	return -1
}

func (f *folder) call(n *syntax.Node) rat.Rat {
	if (n.Name == "sum" || n.Name == "prod") && len(n.Args) == 4 {
		return f.series(n)
	}
	var args [2]rat.Rat
	if len(n.Args) == 0 || len(n.Args) > 2 {
		return rat.Rat{}
	}
	for i, a := range n.Args {
		if args[i] = f.fold(a); !args[i].OK() {
			return rat.Rat{}
		}
	}
	switch n.Name {
	case "factorial":
		return factorial(args[0])
	case "binomial":
		return binomial(args[0], args[1])
	case "percent":
		return args[0].Mul(rat.Frac(1, 100))
	case "degree":
		return args[0]
	case "root":
		if k, ok := args[1].Int64(); ok {
			return root(args[0], k)
		}
	case "abs":
		return args[0].Abs()
	case "floor":
		return args[0].Floor()
	case "ceil":
		return args[0].Neg().Floor().Neg()
	case "mod":
		return args[0].Sub(args[0].Div(args[1]).Floor().Mul(args[1]))
	case "log":
		return logarithm(args[0], args[1])
	}
	return rat.Rat{}
}

// mostTerms bounds sums and products that are written out, at most two in each other.
const mostTerms = 2000

// series is a sum or product over an index from a whole number to another.
func (f *folder) series(n *syntax.Node) rat.Rat {
	from, ok1 := f.fold(n.Args[2]).Int64()
	to, ok2 := f.fold(n.Args[3]).Int64()
	if !ok1 || !ok2 || to-from > mostTerms || to < from || len(f.bound) > 1 {
		return rat.Rat{}
	}
	v := rat.Int(0)
	if n.Name == "prod" {
		v = rat.Int(1)
	}
	for k := from; k <= to && v.OK(); k++ {
		f.bound = append(f.bound, binding{n.Args[1].Name, rat.Int(k)})
		t := f.fold(n.Args[0])
		f.bound = f.bound[:len(f.bound)-1]
		if n.Name == "prod" {
			v = v.Mul(t)
		} else {
			v = v.Add(t)
		}
	}
	return v
}

func factorial(a rat.Rat) rat.Rat {
	n, ok := a.Int64()
	if !ok || n < 0 || n > 1500 {
		return rat.Rat{}
	}
	v := rat.Int(1)
	for k := int64(2); k <= n; k++ {
		v = v.Mul(rat.Int(k))
	}
	return v
}

func binomial(a, b rat.Rat) rat.Rat {
	k, ok := b.Int64()
	if n, whole := a.Int64(); whole && n >= 0 && k > n {
		return rat.Int(0)
	} else if whole && n-k < k {
		k = n - k
	}
	if !ok || k < 0 || k > 1500 {
		return rat.Rat{}
	}
	v := rat.Int(1)
	for i := int64(0); i < k; i++ {
		v = v.Mul(a.Sub(rat.Int(i))).Div(rat.Int(i + 1))
	}
	return v
}

// logarithm is log_b a if it is a whole number.
func logarithm(a, b rat.Rat) rat.Rat {
	if a.Sign() <= 0 || b.Cmp(rat.Int(1)) <= 0 {
		return rat.Rat{}
	}
	p := rat.Int(1)
	for k := int64(0); k < 256 && p.OK(); k++ {
		if p.Equal(a) {
			return rat.Int(k)
		}
		if p.Equal(a.Inv()) {
			return rat.Int(-k)
		}
		p = p.Mul(b)
	}
	return rat.Rat{}
}
