package numeric

import (
	"math"
	"math/cmplx"

	"github.com/merit-rl/merit/sdk/answer/internal/rat"
)

// ball is a complex number in float64 and a bound of its error.
type ball struct {
	z complex128
	e float64
}

type balls struct{}

const ulp = 1.0 / (1 << 51)

func rounded(z complex128, e float64) ball { return ball{z, e*1.0000001 + cmplx.Abs(z)*ulp + 1e-300} }

// Rat is within half a unit of the last place.
func (balls) Rat(r rat.Rat) ball {
	if n, ok := r.Int64(); ok && n < 1<<52 && n > -1<<52 {
		return ball{complex(float64(n), 0), 0}
	}
	return rounded(complex(r.Float(), 0), 0)
}

func (balls) Pi() ball { return rounded(math.Pi, 0) }
func (balls) I() ball  { return ball{1i, 0} }

func (balls) Add(a, b ball) ball { return rounded(a.z+b.z, a.e+b.e) }

func (balls) Mul(a, b ball) ball {
	z := complex(real(a.z)*real(b.z)-imag(a.z)*imag(b.z), real(a.z)*imag(b.z)+imag(a.z)*real(b.z))
	return rounded(z, size(a)*b.e+size(b)*a.e+a.e*b.e+size(a)*size(b)*ulp)
}

func size(a ball) float64 { return math.Abs(real(a.z)) + math.Abs(imag(a.z)) }

func good(b ball) (ball, bool) {
	return b, !cmplx.IsNaN(b.z) && !cmplx.IsInf(b.z) && !math.IsNaN(b.e) && !math.IsInf(b.e, 0)
}

func (balls) Inv(a ball) (ball, bool) {
	m := cmplx.Abs(a.z)
	if m <= a.e*1.01 || m == 0 {
		return a, false
	}
	return good(rounded(1/a.z, a.e/(m*(m-a.e))))
}

func (balls) Sqrt(a ball) (ball, bool) {
	z := cmplx.Sqrt(a.z)
	if imag(a.z) == 0 && real(a.z) >= 0 {
		z = complex(math.Sqrt(real(a.z)), 0)
	}
	m := cmplx.Abs(z)
	if m*m <= 2*a.e {
		return good(rounded(z, 2*math.Sqrt(a.e)))
	}
	return good(rounded(z, a.e/m))
}

func (balls) Exp(a ball) (ball, bool) {
	z := cmplx.Exp(a.z)
	if imag(a.z) == 0 {
		z = complex(math.Exp(real(a.z)), 0)
	}
	m := cmplx.Abs(z)
	return good(rounded(z, m*math.Expm1(a.e)+m*(1+cmplx.Abs(a.z))*ulp))
}

func (balls) Log(a ball) (ball, bool) {
	m := cmplx.Abs(a.z)
	if m <= 2*a.e || m == 0 || imag(a.z) != 0 && real(a.z) < 0 && math.Abs(imag(a.z)) <= a.e {
		return a, false
	}
	z := complex(math.Log(m), cmplx.Phase(a.z))
	return good(rounded(z, 2*a.e/m+ulp))
}

func (balls) Real(a ball) (ball, bool, bool) {
	return ball{complex(real(a.z), 0), a.e}, imag(a.z) == 0, true
}

func (balls) Imag(a ball) ball { return ball{complex(imag(a.z), 0), a.e} }

func (balls) Sign(a ball) (int, bool) {
	x := real(a.z)
	switch {
	case x > a.e:
		return 1, true
	case x < -a.e:
		return -1, true
	}
	return 0, x == 0 && a.e == 0
}

func (balls) Floor(a ball) (ball, bool) {
	x := real(a.z)
	f := math.Floor(x)
	if imag(a.z) != 0 || a.e > 0.4 || x-f < a.e && a.e > 0 || f+1-x < a.e {
		return a, false
	}
	return ball{complex(f, 0), 0}, true
}

func (balls) Near(a ball) complex128 { return a.z }

func (balls) Finite(a ball) bool { _, ok := good(a); return ok }
