package numeric

import (
	"math"
	"math/big"
	"sync"
)

// precision is in bits. Two values that agree in agreement bits are equal.
const (
	precision = 320
	agreement = 200
)

func float() *big.Float { return new(big.Float).SetPrec(precision) }

func whole(n int64) *big.Float { return float().SetInt64(n) }

// tiny tells that x is nothing beside what it was computed from.
func tiny(x *big.Float) bool { return x.Sign() == 0 || x.MantExp(nil) < -agreement }

// inverseTangent is arctan(1/n), or artanh(1/n) if sign is 1.
func inverseTangent(n, sign int64) *big.Float {
	power := float().Quo(whole(1), whole(n))
	square := float().Quo(whole(sign), whole(n*n))
	sum := float().Set(power)
	for k := int64(3); power.MantExp(nil) > -precision-8; k += 2 {
		power.Mul(power, square)
		sum.Add(sum, float().Quo(power, whole(k)))
	}
	return sum
}

// pi is Machin's 16 arctan(1/5) - 4 arctan(1/239).
var pi = sync.OnceValue(func() *big.Float {
	a := float().Mul(whole(16), inverseTangent(5, -1))
	return a.Sub(a, float().Mul(whole(4), inverseTangent(239, -1)))
})

// ln2 is 2 artanh(1/3).
var ln2 = sync.OnceValue(func() *big.Float { return float().Mul(whole(2), inverseTangent(3, 1)) })

const halvings = 12

// expReal is e^x; false if it is out of range.
func expReal(x *big.Float) (*big.Float, bool) {
	f, _ := x.Float64()
	if math.Abs(f) > 1e6 {
		return nil, false
	}
	k := int(math.Round(f / math.Ln2))
	r := float().Sub(x, float().Mul(whole(int64(k)), ln2()))
	r.SetMantExp(r, -halvings)
	sum, term := whole(1), whole(1)
	for n := int64(1); term.Sign() != 0 && term.MantExp(nil) > -precision-16; n++ {
		term.Mul(term, r)
		term.Quo(term, whole(n))
		sum.Add(sum, term)
	}
	for range halvings {
		sum.Mul(sum, sum)
	}
	return sum.SetMantExp(sum, k), true
}

// logReal is ln x of a positive x, by Halley's method.
func logReal(x *big.Float) (*big.Float, bool) {
	m := float()
	e := x.MantExp(m)
	f, _ := m.Float64()
	y := float().SetFloat64(math.Log(f))
	for range 3 {
		p, ok := expReal(y)
		if !ok {
			return nil, false
		}
		step := float().Quo(float().Sub(m, p), float().Add(m, p))
		y.Add(y, step.Add(step, step))
	}
	return y.Add(y, float().Mul(whole(int64(e)), ln2())), true
}

// sinCosReal is sin x and cos x; false if x is out of range.
func sinCosReal(x *big.Float) (sin, cos *big.Float, ok bool) {
	f, _ := x.Float64()
	if math.Abs(f) > 1e12 {
		return nil, nil, false
	}
	turn := float().Mul(whole(2), pi())
	r := float().Sub(x, float().Mul(whole(int64(math.Round(f/(2*math.Pi)))), turn))
	r.SetMantExp(r, -halvings)
	square := float().Mul(r, r)
	square.Neg(square)
	// versin = 1 - cos keeps its digits through the doublings.
	sin, term := float().Set(r), float().Set(r)
	versin := float()
	even := whole(1)
	for n := int64(2); n < 200 && even.Sign() != 0 && even.MantExp(nil) > -precision-32; n += 2 {
		even.Quo(even.Mul(even, square), whole((n-1)*n))
		versin.Sub(versin, even)
		term.Quo(term.Mul(term, square), whole(n*(n+1)))
		sin.Add(sin, term)
	}
	for range halvings {
		c := float().Sub(whole(1), versin)
		sin.Mul(sin, float().Add(c, c))
		v := float().Add(versin, versin)
		versin.Mul(v, float().Sub(whole(2), versin))
	}
	return sin, float().Sub(whole(1), versin), true
}

// angle is the argument of x + iy, from -π to π.
func angle(y, x *big.Float) (*big.Float, bool) {
	r := float().Sqrt(float().Add(float().Mul(x, x), float().Mul(y, y)))
	if r.Sign() == 0 {
		return nil, false
	}
	fx, _ := float().Quo(x, r).Float64()
	fy, _ := float().Quo(y, r).Float64()
	theta := float().SetFloat64(math.Atan2(fy, fx))
	for range 3 {
		sin, cos, ok := sinCosReal(theta)
		if !ok {
			return nil, false
		}
		d := float().Sub(float().Mul(y, cos), float().Mul(x, sin))
		d.Quo(d, r)
		cube := float().Mul(d, float().Mul(d, d))
		theta.Add(theta, d.Add(d, cube.Quo(cube, whole(6))))
	}
	if x.Sign() < 0 && y.Sign() == 0 {
		return float().Set(pi()), true
	}
	return theta, true
}
