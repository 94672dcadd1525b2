package numeric

import (
	"math/big"
	"math/bits"

	"github.com/merit-rl/merit/sdk/answer/internal/rat"
	"github.com/merit-rl/merit/sdk/answer/internal/syntax"
)

// prime is 2^64 - 2^32 + 1. It is 1 modulo 4, so that -1 has a square root: 2^48.
const (
	prime = 0xffffffff00000001
	rootI = 1 << 48
)

// residues is the prime field. Functions other than powers have no value in it; π
// is one more variable, which it may be, since no polynomial has it as a root.
type residues struct{ trial int }

func (f residues) Rat(r rat.Rat) uint64 {
	if n, d, ok := r.Words(); ok {
		v := residue(n)
		if d == 1 {
			return v
		}
		inv, _ := f.Inv(residue(d))
		return f.Mul(v, inv)
	}
	p := new(big.Int).SetUint64(prime)
	n := new(big.Int).Mod(r.Big().Num(), p).Uint64()
	d := new(big.Int).Mod(r.Big().Denom(), p).Uint64()
	inv, _ := f.Inv(d)
	return f.Mul(n, inv)
}

func residue(n int64) uint64 {
	if n < 0 {
		return prime - uint64(-n)%prime
	}
	return uint64(n) % prime
}

func (f residues) Pi() uint64 { return draw("π", f.trial) }
func (residues) I() uint64    { return rootI }

func (residues) Add(a, b uint64) uint64 {
	s, carry := bits.Add64(a, b, 0)
	return bits.Rem64(carry, s, prime)
}

func (residues) Mul(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	return bits.Rem64(hi, lo, prime)
}

func (f residues) Inv(a uint64) (uint64, bool) {
	v := uint64(1)
	for e, b := uint64(prime-2), a; e > 0; e >>= 1 {
		if e&1 == 1 {
			v = f.Mul(v, b)
		}
		b = f.Mul(b, b)
	}
	return v, a != 0
}

func (residues) Sqrt(a uint64) (uint64, bool)       { return 0, false }
func (residues) Exp(a uint64) (uint64, bool)        { return 0, false }
func (residues) Log(a uint64) (uint64, bool)        { return 0, false }
func (residues) Real(a uint64) (uint64, bool, bool) { return 0, false, false }
func (residues) Imag(a uint64) uint64               { return 0 }
func (residues) Sign(a uint64) (int, bool)          { return 0, false }
func (residues) Floor(a uint64) (uint64, bool)      { return 0, false }
func (residues) Finite(a uint64) bool               { return true }
func (residues) Near(a uint64) complex128           { return 0 }

// draw is the pseudo-random value of a variable in the field.
func draw(name string, trial int) uint64 {
	h := uint64(14695981039346656037) + uint64(trial)*0x9e3779b97f4a7c15
	for i := range len(name) {
		h = (h ^ uint64(name[i])) * 1099511628211
	}
	h ^= h >> 29
	h *= 0xbf58476d1ce4e5b9
	h ^= h >> 32
	return h % prime
}

// ModularBound is the stated probability that Same of Modular is wrong: by Schwartz
// and Zippel the degree over the prime, squared for two points.
const ModularBound = 1.0 / (1 << 60)

// mostDegree bounds the degree of what is evaluated in the field.
const mostDegree = 1 << 30

// Modular compares rational functions of the variables, π and i by their values at
// two points of a prime field. Unknown means that a side is not one.
func Modular(a, b *syntax.Node, steps *int) Result {
	if degree(a) > mostDegree || degree(b) > mostDegree {
		return Unknown
	}
	var opaque bool
	for t := range 2 {
		w := &walker[uint64]{residues{t}, t, steps, &opaque}
		x, ok1 := w.eval(a)
		y, ok2 := w.eval(b)
		if !ok1 || !ok2 || opaque {
			return Unknown
		}
		if x != y {
			return Differ
		}
	}
	return Same
}

// ModularScaled tells whether a is b times a constant other than zero: whether
// a(p)·b(q) = a(q)·b(p) at pairs of points.
func ModularScaled(a, b *syntax.Node, steps *int) (r Result, positive bool) {
	if degree(a) > mostDegree || degree(b) > mostDegree {
		return Unknown, false
	}
	var opaque bool
	var x, y [3]uint64
	for t := range 3 {
		w := &walker[uint64]{residues{t}, t, steps, &opaque}
		var ok1, ok2 bool
		x[t], ok1 = w.eval(a)
		y[t], ok2 = w.eval(b)
		if !ok1 || !ok2 || opaque || x[t] == 0 || y[t] == 0 {
			return Unknown, false
		}
	}
	f := residues{}
	if f.Mul(x[0], y[1]) != f.Mul(x[1], y[0]) || f.Mul(x[0], y[2]) != f.Mul(x[2], y[0]) {
		return Differ, false
	}
	inv, _ := f.Inv(y[0])
	q := f.Mul(x[0], inv) // small positive constants are small residues; signs come from float64
	return Same, q != 0 && sameSign(a, b, steps)
}

// sameSign tells whether two proportional expressions have the same sign.
func sameSign(a, b *syntax.Node, steps *int) bool {
	var opaque bool
	w := &walker[ball]{balls{}, 0, steps, &opaque}
	for t := range trials {
		w.trial = t
		x, ok1 := w.eval(a)
		y, ok2 := w.eval(b)
		if ok1 && ok2 && size(x) > x.e && size(y) > y.e {
			return real(x.z)*real(y.z) > 0
		}
	}
	return false
}

// degree bounds the degree of a rational function; it is past mostDegree for
// anything else.
func degree(n *syntax.Node) float64 {
	const none = 2 * mostDegree
	switch n.Kind {
	case syntax.Number:
		return 0
	case syntax.Symbol:
		return 1
	case syntax.Constant:
		if n.Name == "pi" {
			return 1
		}
		if n.Name == "i" {
			return 0
		}
		return none
	case syntax.Sum, syntax.Product: // over a common denominator
		d := 0.0
		for _, a := range n.Args {
			d += degree(a)
		}
		return d
	case syntax.Power:
		if k, ok := n.Args[1].Num.Int64(); ok && n.Args[1].Kind == syntax.Number && k >= -mostPower && k <= mostPower {
			return degree(n.Args[0]) * float64(max(k, -k))
		}
	}
	return none
}
