package net

import (
	"fmt"
	"math"

	"github.com/merit-rl/merit/core/learn/internal/product"
)

// Activation is the function behind each hidden layer.
type Activation byte

// The activations.
const (
	ReLU Activation = iota
	Tanh
	Sigmoid
	SiLU // x·sigmoid(x)

	// The kernels cannot differentiate what follows; gorgonia can.
	GELU      // ½x·(1 + tanh(√(2/π)·(x + 0.044715x³)))
	LeakyReLU // x, or 0.01x below 0
	Softplus  // log(1 + eˣ)
	Mish      // x·tanh(softplus(x))
)

var activationNames = [...]string{ReLU: "relu", Tanh: "tanh", Sigmoid: "sigmoid", SiLU: "silu", GELU: "gelu", LeakyReLU: "leaky_relu", Softplus: "softplus", Mish: "mish"}

// String returns the name of a.
func (a Activation) String() string { return activationNames[a] }

// ParseActivation returns the activation called name.
func ParseActivation(name string) (Activation, error) {
	for i, n := range activationNames {
		if n == name {
			return Activation(i), nil
		}
	}
	return 0, fmt.Errorf("%q is not an activation", name)
}

// Apply writes a(x) of each x into dst, which may be x.
func (a Activation) Apply(dst, x []float32) {
	for i, v := range x[:len(dst)] {
		dst[i] = float32(a.Value(float64(v)))
	}
}

// Back multiplies each number of by, the gradient of a layer's results y, by
// the slope of a at the sum that y came from. sums are those; only SiLU, whose
// slope y does not tell, reads them.
func (a Activation) Back(by, y, sums []float32) {
	switch a {
	case ReLU:
		product.Gate(by, y)
	case Tanh:
		for i, v := range y[:len(by)] {
			by[i] *= 1 - v*v
		}
	case Sigmoid:
		for i, v := range y[:len(by)] {
			by[i] *= v * (1 - v)
		}
	case SiLU:
		for i, s := range sums[:len(by)] {
			by[i] *= float32(a.Slope(float64(s)))
		}
	}
}

// Value returns a(x).
func (a Activation) Value(x float64) float64 {
	switch a {
	case Tanh:
		return math.Tanh(x)
	case Sigmoid:
		return sigmoid(x)
	case SiLU:
		return x * sigmoid(x)
	case GELU:
		return x / 2 * (1 + math.Tanh(bend(x)))
	case LeakyReLU:
		return max(x, Leak*x)
	case Softplus:
		return softplus(x)
	case Mish:
		return x * math.Tanh(softplus(x))
	}
	return max(x, 0)
}

// Slope returns the derivative of a at x; that of ReLU at 0 is 1, as gorgonia
// has it.
func (a Activation) Slope(x float64) float64 {
	switch a {
	case Tanh:
		t := math.Tanh(x)
		return 1 - t*t
	case Sigmoid:
		s := sigmoid(x)
		return s * (1 - s)
	case SiLU:
		s := sigmoid(x)
		return s * (1 + x*(1-s))
	case GELU:
		t := math.Tanh(bend(x))
		return (1+t)/2 + x/2*(1-t*t)*GELUScale*(1+3*GELUCube*x*x)
	case Softplus:
		return sigmoid(x)
	case Mish:
		t := math.Tanh(softplus(x))
		return t + x*(1-t*t)*sigmoid(x)
	}
	if x >= 0 {
		return 1
	}
	if a == LeakyReLU {
		return Leak
	}
	return 0
}

// The constants of LeakyReLU and of GELU's approximation by tanh (Hendrycks and
// Gimpel 2016).
const (
	Leak      = 0.01
	GELUScale = 0.7978845608028654 // √(2/π)
	GELUCube  = 0.044715
)

// bend is what GELU takes the tanh of.
func bend(x float64) float64 { return GELUScale * (x + GELUCube*x*x*x) }

func softplus(x float64) float64 { return max(x, 0) + math.Log1p(math.Exp(-math.Abs(x))) }

func sigmoid(x float64) float64 { return 1 / (1 + math.Exp(-x)) }
