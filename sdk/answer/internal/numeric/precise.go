package numeric

import (
	"math/big"

	"github.com/merit-rl/merit/sdk/answer/internal/rat"
)

// precise is a complex number of 320 bits.
type precise struct{ re, im *big.Float }

type high struct{}

func (high) Rat(r rat.Rat) precise {
	if n, ok := r.Int64(); ok {
		return precise{whole(n), float()}
	}
	return precise{float().SetRat(r.Big()), float()}
}

func (high) Pi() precise { return precise{pi(), float()} }
func (high) I() precise  { return precise{float(), whole(1)} }

func (high) Add(a, b precise) precise {
	return precise{float().Add(a.re, b.re), float().Add(a.im, b.im)}
}

func (high) Mul(a, b precise) precise {
	if a.im.Sign() == 0 && b.im.Sign() == 0 {
		return precise{float().Mul(a.re, b.re), float()}
	}
	re := float().Sub(float().Mul(a.re, b.re), float().Mul(a.im, b.im))
	im := float().Add(float().Mul(a.re, b.im), float().Mul(a.im, b.re))
	return precise{re, im}
}

func norm(a precise) *big.Float {
	return float().Add(float().Mul(a.re, a.re), float().Mul(a.im, a.im))
}

func (high) Inv(a precise) (precise, bool) {
	n := norm(a)
	if n.Sign() == 0 || tiny(a.re) && tiny(a.im) {
		return a, false
	}
	im := float().Quo(a.im, n)
	return precise{float().Quo(a.re, n), im.Neg(im)}, true
}

func (h high) Sqrt(a precise) (precise, bool) {
	if a.im.Sign() == 0 {
		if a.re.Sign() < 0 {
			return precise{float(), float().Sqrt(float().Neg(a.re))}, true
		}
		return precise{float().Sqrt(a.re), float()}, true
	}
	r := float().Sqrt(norm(a))
	half := big.NewFloat(0.5)
	re := float().Sqrt(positive(float().Mul(half, float().Add(r, a.re))))
	im := float().Sqrt(positive(float().Mul(half, float().Sub(r, a.re))))
	if a.im.Sign() < 0 {
		im.Neg(im)
	}
	return precise{re, im}, true
}

func positive(x *big.Float) *big.Float {
	if x.Sign() < 0 {
		return float()
	}
	return x
}

func (high) Exp(a precise) (precise, bool) {
	m, ok := expReal(a.re)
	if !ok || a.im.Sign() == 0 {
		return precise{m, float()}, ok
	}
	sin, cos, ok := sinCosReal(a.im)
	if !ok {
		return a, false
	}
	return precise{cos.Mul(cos, m), sin.Mul(sin, m)}, true
}

func (high) Log(a precise) (precise, bool) {
	if tiny(a.re) && tiny(a.im) {
		return a, false
	}
	if a.im.Sign() == 0 && a.re.Sign() > 0 {
		re, ok := logReal(a.re)
		return precise{re, float()}, ok
	}
	re, ok1 := logReal(float().Sqrt(norm(a)))
	im, ok2 := angle(a.im, a.re)
	return precise{re, im}, ok1 && ok2
}

func (high) Real(a precise) (precise, bool, bool) {
	return precise{a.re, float()}, a.im.Sign() == 0, true
}

func (high) Imag(a precise) precise { return precise{a.im, float()} }

func (high) Sign(a precise) (int, bool) {
	if a.re.Sign() != 0 && tiny(a.re) {
		return 0, false
	}
	return a.re.Sign(), true
}

func (high) Floor(a precise) (precise, bool) {
	if a.im.Sign() != 0 || a.re.MantExp(nil) > 64 {
		return a, false
	}
	near := float().Add(a.re, big.NewFloat(0.5))
	n, _ := near.Int(nil)
	if near.Sign() < 0 && !near.IsInt() {
		n.Sub(n, big.NewInt(1))
	}
	closest := float().SetInt(n)
	d := float().Sub(a.re, closest)
	if d.Sign() < 0 && !tiny(d) {
		closest.Sub(closest, whole(1))
	}
	return precise{closest, float()}, true
}

func (high) Near(a precise) complex128 {
	re, _ := a.re.Float64()
	im, _ := a.im.Float64()
	return complex(re, im)
}

// Finite bounds exponents, so that a few hundred multiplications cannot overflow.
func (high) Finite(a precise) bool {
	const most = 1 << 20
	return a.re != nil && a.im != nil && !a.re.IsInf() && !a.im.IsInf() && a.re.MantExp(nil) < most && a.im.MantExp(nil) < most
}
