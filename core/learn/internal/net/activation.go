package net

import (
	"fmt"
	"math"
)

// Activation is the function behind each hidden layer.
type Activation byte

// The activations.
const (
	ReLU Activation = iota
	Tanh
	Sigmoid
	SiLU // x·sigmoid(x)
)

var activationNames = [...]string{ReLU: "relu", Tanh: "tanh", Sigmoid: "sigmoid", SiLU: "silu"}

// Activations returns the names of all activations.
func Activations() []string { return activationNames[:] }

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

// apply replaces each x by a(x + bias), where bias repeats along x.
func (a Activation) apply(x, bias []float32) {
	for len(x) > 0 {
		row := x[:len(bias)]
		x = x[len(bias):]
		for j, b := range bias {
			row[j] += b
		}
		if a == ReLU {
			for j, v := range row {
				row[j] = max(v, 0)
			}
			continue
		}
		for j, v := range row {
			row[j] = float32(a.Value(float64(v)))
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
	}
	if x >= 0 {
		return 1
	}
	return 0
}

func sigmoid(x float64) float64 { return 1 / (1 + math.Exp(-x)) }
