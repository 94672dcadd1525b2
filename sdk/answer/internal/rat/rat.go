// Package rat is exact rational arithmetic: machine words while they suffice,
// math/big when they overflow, and an error value when a number grows past a bound.
package rat

import (
	"math"
	"math/big"
	"math/bits"
)

// MostBits bounds numerators and denominators. A larger result is not a number
// (see Rat.OK), so that no input makes arithmetic slow.
const MostBits = 1 << 14

// Rat is a rational number. The zero value is not a number: it is what an
// operation without a result gives, such as a division by zero.
type Rat struct {
	n, d int64 // lowest terms, d > 0; unused if big is set
	big  *big.Rat
}

// Int is a whole number.
func Int(n int64) Rat { return Rat{n: n, d: 1} }

// Frac is n/d.
func Frac(n, d int64) Rat {
	if d == 0 {
		return Rat{}
	}
	if n == math.MinInt64 || d == math.MinInt64 {
		return small(new(big.Rat).SetFrac(big.NewInt(n), big.NewInt(d)))
	}
	if d < 0 {
		n, d = -n, -d
	}
	if g := gcd(abs(n), d); g > 1 {
		n, d = n/g, d/g
	}
	return Rat{n: n, d: d}
}

// OK tells whether r is a number.
func (r Rat) OK() bool { return r.d != 0 || r.big != nil }

func abs(n int64) int64 {
	if n < 0 {
		return -n
	}
	return n
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// Big is r as a big.Rat, to be read only. It panics if r is not a number.
func (r Rat) Big() *big.Rat {
	if r.big != nil {
		return r.big
	}
	return big.NewRat(r.n, r.d)
}

// FromBig is b as a Rat.
func FromBig(b *big.Rat) Rat { return small(b) }

func small(b *big.Rat) Rat {
	if b.Num().IsInt64() && b.Denom().IsInt64() && b.Num().Int64() != math.MinInt64 {
		return Rat{n: b.Num().Int64(), d: b.Denom().Int64()}
	}
	if b.Num().BitLen() > MostBits || b.Denom().BitLen() > MostBits {
		return Rat{}
	}
	return Rat{big: b}
}

func mul64(a, b int64) (int64, bool) {
	hi, lo := bits.Mul64(uint64(abs(a)), uint64(abs(b)))
	if hi != 0 || lo > math.MaxInt64 {
		return 0, false
	}
	if (a < 0) != (b < 0) {
		return -int64(lo), true
	}
	return int64(lo), true
}

// Mul is r times s.
func (r Rat) Mul(s Rat) Rat {
	if !r.OK() || !s.OK() {
		return Rat{}
	}
	if r.big == nil && s.big == nil {
		g, h := max(gcd(abs(r.n), s.d), 1), max(gcd(abs(s.n), r.d), 1)
		n, ok1 := mul64(r.n/g, s.n/h)
		d, ok2 := mul64(r.d/h, s.d/g)
		if ok1 && ok2 {
			return Rat{n: n, d: d}
		}
	}
	return small(new(big.Rat).Mul(r.Big(), s.Big()))
}

// Add is r plus s.
func (r Rat) Add(s Rat) Rat {
	if !r.OK() || !s.OK() {
		return Rat{}
	}
	if r.big == nil && s.big == nil {
		a, ok1 := mul64(r.n, s.d)
		b, ok2 := mul64(s.n, r.d)
		d, ok3 := mul64(r.d, s.d)
		if sum := a + b; ok1 && ok2 && ok3 && sum != math.MinInt64 && (sum > a) == (b > 0) {
			return Frac(sum, d)
		}
	}
	return small(new(big.Rat).Add(r.Big(), s.Big()))
}

// Neg is minus r.
func (r Rat) Neg() Rat {
	if r.big == nil {
		return Rat{n: -r.n, d: r.d}
	}
	return Rat{big: new(big.Rat).Neg(r.big)}
}

// Sub is r minus s.
func (r Rat) Sub(s Rat) Rat { return r.Add(s.Neg()) }

// Inv is one over r.
func (r Rat) Inv() Rat {
	switch {
	case !r.OK() || r.Sign() == 0:
		return Rat{}
	case r.big != nil:
		return small(new(big.Rat).Inv(r.big))
	case r.n < 0:
		return Rat{n: -r.d, d: -r.n}
	}
	return Rat{n: r.d, d: r.n}
}

// Div is r over s.
func (r Rat) Div(s Rat) Rat { return r.Mul(s.Inv()) }

// Sign is -1, 0 or 1; 0 for what is not a number.
func (r Rat) Sign() int {
	switch {
	case r.big != nil:
		return r.big.Sign()
	case r.n < 0:
		return -1
	case r.n > 0:
		return 1
	}
	return 0
}

// Cmp compares two numbers: -1, 0 or 1.
func (r Rat) Cmp(s Rat) int {
	if r.big == nil && s.big == nil {
		if r.d == s.d {
			return cmp64(r.n, s.n)
		}
		a, ok1 := mul64(r.n, s.d)
		b, ok2 := mul64(s.n, r.d)
		if ok1 && ok2 {
			return cmp64(a, b)
		}
	}
	return r.Big().Cmp(s.Big())
}

func cmp64(a, b int64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// Equal tells whether both are the same number.
func (r Rat) Equal(s Rat) bool { return r.OK() && s.OK() && r.Cmp(s) == 0 }

// Int64 is r if it is a whole number that fits a machine word.
func (r Rat) Int64() (int64, bool) { return r.n, r.big == nil && r.d == 1 }

// Words is r as a fraction of machine words, if it is one.
func (r Rat) Words() (num, den int64, ok bool) { return r.n, r.d, r.big == nil && r.d != 0 }

// IsInt tells whether r is a whole number.
func (r Rat) IsInt() bool { return r.big == nil && r.d == 1 || r.big != nil && r.big.IsInt() }

// Float is the closest float64.
func (r Rat) Float() float64 {
	if r.big == nil {
		return float64(r.n) / float64(r.d)
	}
	f, _ := r.big.Float64()
	return f
}

// Pow is r to a whole power. It is not a number where the result passes MostBits.
func (r Rat) Pow(k int64) Rat {
	if !r.OK() || k == math.MinInt64 {
		return Rat{}
	}
	if k < 0 {
		return r.Inv().Pow(-k)
	}
	if r.Equal(Int(1)) || r.Equal(Int(-1)) {
		k &= 1
	}
	if r.Sign() == 0 && k > 0 {
		return Int(0)
	}
	if k > MostBits {
		return Rat{}
	}
	result := Int(1)
	for base := r; k > 0 && result.OK(); k >>= 1 {
		if k&1 == 1 {
			result = result.Mul(base)
		}
		if k > 1 {
			base = base.Mul(base)
		}
	}
	return result
}

// Floor is the greatest whole number that is not above r.
func (r Rat) Floor() Rat {
	if !r.OK() {
		return r
	}
	if r.big == nil {
		q := r.n / r.d
		if r.n%r.d < 0 {
			q--
		}
		return Int(q)
	}
	q := new(big.Int).Div(r.big.Num(), r.big.Denom())
	return small(new(big.Rat).SetInt(q))
}

// Abs is the absolute value of r.
func (r Rat) Abs() Rat {
	if r.Sign() < 0 {
		return r.Neg()
	}
	return r
}

// Ten is ten to the power k.
func Ten(k int) Rat { return Int(10).Pow(int64(k)) }

// String is r as "3" or "3/4".
func (r Rat) String() string {
	if !r.OK() {
		return "undefined"
	}
	return r.Big().RatString()
}
