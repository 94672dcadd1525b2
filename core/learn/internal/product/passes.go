package product

import "math"

// negative is −0.
var negative = float32(math.Copysign(0, -1))

func rectify(x []float32) {
	for i, v := range x {
		if v < 0 {
			x[i] = negative
		}
	}
}

// Gate clears the numbers of by whose place in y holds a number with the sign
// bit set: the gradient of what Start.Rectify did.
func Gate(by, y []float32) {
	y = y[:len(by)]
	i := 0
	if n := len(by) &^ 7; fast && n > 0 {
		gate8(n, &by[0], &y[0])
		i = n
	}
	for ; i < len(by); i++ {
		if math.Signbit(float64(y[i])) {
			by[i] = 0
		}
	}
}

// Add adds y to x.
func Add(x, y []float32) {
	y = y[:len(x)]
	i := 0
	if n := len(x) &^ 7; fast && n > 0 {
		add8(n, &x[0], &y[0])
		i = n
	}
	for ; i < len(x); i++ {
		x[i] += y[i]
	}
}

var ones = [...]float32{1}

// SumColumns computes the sum of each column of b from s.
func SumColumns(dst []float32, b *Right, s Start) {
	if fast {
		Multiply(dst, 1, Left{Data: ones[:]}, b, s)
		return
	}
	if !s.Add {
		clear(dst)
	}
	for i := range b.k {
		for j, v := range b.data[i*b.n:][:b.n] {
			dst[j] += v
		}
	}
}

// SquaredNorm returns the sum of the squares of x, in double precision and in
// an order that the length alone decides.
func SquaredNorm(x []float32) float64 {
	var sums [4]float64
	for ; len(x) >= 4; x = x[4:] {
		for i, v := range x[:4] {
			sums[i] += float64(v) * float64(v)
		}
	}
	for _, v := range x {
		sums[0] += float64(v) * float64(v)
	}
	return sums[0] + sums[1] + (sums[2] + sums[3])
}

// factors are the numbers of one step of Adam, in the order that adam8 reads.
type factors struct {
	scale, beta1, rest1, beta2, rest2, rate, correct, epsilon float32
}

// Adam describes one step of the optimizer of Kingma and Ba 2015.
type Adam struct {
	Beta1, Beta2, Epsilon float64
	Steps                 uint64  // with this one
	Rate                  float64 // the learning rate
	Scale                 float64 // of the gradient, which is multiplied by it
}

// Step moves params against gradient. first and second are the moving means of the
// gradient and of its square. One pass in single precision; the corrections of
// both means are factors of the rate and of the mean square, as in the paper's
// section 2, and epsilon stays outside the root. The new value of a parameter
// depends on its own numbers alone, so parts may run in parallel.
func (a Adam) Step(params, gradient, first, second []float32) {
	t := float64(a.Steps)
	f := factors{
		scale: float32(a.Scale), beta1: float32(a.Beta1), rest1: float32(1 - a.Beta1), beta2: float32(a.Beta2), rest2: float32(1 - a.Beta2),
		rate: float32(a.Rate / (1 - math.Pow(a.Beta1, t))), correct: float32(1 / (1 - math.Pow(a.Beta2, t))), epsilon: float32(a.Epsilon),
	}
	gradient, first, second = gradient[:len(params)], first[:len(params)], second[:len(params)]
	i := 0
	if n := len(params) &^ 7; fast && n > 0 {
		adam8(n, &params[0], &gradient[0], &first[0], &second[0], &f)
		i = n
	}
	for ; i < len(params); i++ {
		g := gradient[i] * f.scale
		m := f.beta1*first[i] + float32(f.rest1*g)
		v := float32(f.rest2*g)*g + f.beta2*second[i]
		first[i], second[i] = m, v
		params[i] -= m * f.rate / (float32(math.Sqrt(float64(v*f.correct))) + f.epsilon)
	}
}
