// Package losstest makes networks and rows on which gradients are compared:
// every term, activation and kind of layer, masked actions, clipped ratios,
// weights of 0. For tests only.
package losstest

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/learn/internal/loss"
	"github.com/merit-rl/merit/core/learn/internal/net"
)

// Case is a network and the terms of its objective.
type Case struct {
	Name         string
	Shape        net.Shape
	Coefficients loss.Coefficients
	ValueClip    float64
}

// Cases returns the cases that gradients must agree on.
func Cases() []Case {
	mlp := net.Shape{Inputs: 11, Hidden: []int{9, 7}, Actions: 4}
	with := func(a net.Activation, value bool) net.Shape {
		s := mlp
		s.Activation, s.Value = a, value
		return s
	}
	image := net.Shape{Inputs: 2 * 4 * 3, Planes: [3]int{2, 4, 3}, Kernel: 3, Filters: []int{5, 3}, Hidden: []int{6}, Actions: 3, Activation: net.Tanh, Value: true}
	bare := image
	bare.Filters, bare.Hidden = []int{4}, nil
	return []Case{
		{Name: "policy term", Shape: with(net.Tanh, false)},
		{Name: "relu and entropy", Shape: with(net.ReLU, false), Coefficients: loss.Coefficients{Entropy: 0.1}},
		{Name: "sigmoid and kl", Shape: with(net.Sigmoid, false), Coefficients: loss.Coefficients{KL: 0.3}},
		{Name: "silu and critic", Shape: with(net.SiLU, true), Coefficients: loss.Coefficients{Value: 0.5}},
		{Name: "clipped critic", Shape: with(net.Tanh, true), Coefficients: loss.Coefficients{Value: 0.5}, ValueClip: 0.2},
		{Name: "critic without weight", Shape: with(net.Tanh, true)},
		{Name: "all terms", Shape: with(net.ReLU, true), Coefficients: loss.Coefficients{Entropy: 0.1, KL: 0.3, Value: 0.5}, ValueClip: 0.2},
		{Name: "linear", Shape: net.Shape{Inputs: 5, Actions: 2}, Coefficients: loss.Coefficients{Entropy: 0.1}},
		{Name: "one action", Shape: net.Shape{Inputs: 5, Hidden: []int{3}, Actions: 1, Value: true}, Coefficients: loss.Coefficients{Value: 1}},
		{Name: "two convolutions", Shape: image, Coefficients: loss.Coefficients{Entropy: 0.1, KL: 0.3, Value: 0.5}},
		{Name: "convolution without hidden layer", Shape: bare, Coefficients: loss.Coefficients{Entropy: 0.1, Value: 0.5}},
	}
}

// Make returns the network of c with random parameters and n random rows, of
// which the last is padding.
func (c Case) Make(t testing.TB, n int) (*net.Net, []float32, *loss.Rows) {
	network, err := net.New(c.Shape)
	require.NoError(t, err)
	random := rand.New(rand.NewPCG(7, uint64(n)))
	normal := func(scale float64) float32 { return float32(scale * random.NormFloat64()) }
	params := make([]float32, network.Params)
	for i := range params {
		params[i] = normal(0.5)
	}
	rows := loss.NewRows(n, c.Shape.Inputs, c.Shape.Actions)
	for i := range rows.Input {
		rows.Input[i] = normal(1)
	}
	for i := range n - 1 {
		actions := c.Shape.Actions
		taken := random.IntN(actions)
		rows.Taken[i*actions+taken] = 1
		for a := range actions {
			rows.Shift[i*actions+a] = -0.7
			if a != taken && random.IntN(4) == 0 {
				rows.Shift[i*actions+a] = loss.Masked
			}
		}
		advantage, value, target := random.NormFloat64(), random.NormFloat64(), random.NormFloat64()
		rows.Old[i] = float32(-math.Log(float64(actions)) + 0.3*random.NormFloat64())
		rows.Reference[i] = rows.Old[i] + normal(0.3)
		rows.Advantage[i] = float32(advantage)
		rows.Cap[i] = float32(loss.Cap(advantage, 0.2, 0.3))
		rows.Target[i] = float32(target)
		rows.Floor[i] = float32(loss.Floor(target, value, c.ValueClip))
		rows.Weight[i] = float32(1+i%3) / float32(n)
	}
	return network, params, rows
}
