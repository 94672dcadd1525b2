// Package losstest makes networks and rows on which gradients are compared:
// every surrogate, term, activation and kind of layer, masked actions, clipped
// ratios, sequences, weights of 0. For tests only.
package losstest

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/learn/internal/loss"
	"github.com/merit-rl/merit/core/learn/internal/net"
)

// Case is a network and its objective.
type Case struct {
	Name      string
	Shape     net.Shape
	Objective loss.Objective
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
	all := []Case{
		{Name: "policy term", Shape: with(net.Tanh, false)},
		{Name: "relu and entropy", Shape: with(net.ReLU, false), Objective: loss.Objective{Entropy: 0.1}},
		{Name: "sigmoid and kl", Shape: with(net.Sigmoid, false), Objective: loss.Objective{KL: 0.3}},
		{Name: "silu and critic", Shape: with(net.SiLU, true), Objective: loss.Objective{Value: 0.5}},
		{Name: "clipped critic", Shape: with(net.Tanh, true), Objective: loss.Objective{Value: 0.5, ValueClip: 0.2}},
		{Name: "critic without weight", Shape: with(net.Tanh, true)},
		{Name: "all terms", Shape: with(net.ReLU, true), Objective: loss.Objective{Entropy: 0.1, KL: 0.3, Value: 0.5, ValueClip: 0.2}},
		{Name: "huber", Shape: with(net.Tanh, true), Objective: loss.Objective{Value: 0.5, Huber: 0.7}},
		{Name: "clipped huber", Shape: with(net.Tanh, true), Objective: loss.Objective{Value: 0.5, Huber: 0.7, ValueClip: 0.2}},
		{Name: "k1", Shape: with(net.Tanh, false), Objective: loss.Objective{KL: 0.3, Estimator: loss.K1}},
		{Name: "k2", Shape: with(net.Tanh, false), Objective: loss.Objective{KL: 0.3, Estimator: loss.K2}},
		{Name: "dual clip", Shape: with(net.Tanh, true), Objective: loss.Objective{Dual: 1.4, Entropy: 0.1, Value: 0.5}},
		{Name: "cispo", Shape: with(net.Tanh, false), Objective: loss.Objective{Surrogate: loss.CISPO, Entropy: 0.1}},
		{Name: "gspo", Shape: with(net.Tanh, false), Objective: loss.Objective{Sequence: true, Entropy: 0.1, KL: 0.3}},
		{Name: "gspo with dual clip", Shape: with(net.Tanh, true), Objective: loss.Objective{Sequence: true, Dual: 1.4, Value: 0.5}},
		{Name: "cispo of sequences", Shape: with(net.SiLU, false), Objective: loss.Objective{Surrogate: loss.CISPO, Sequence: true}},
		{Name: "sapo", Shape: with(net.Tanh, false), Objective: loss.Objective{Surrogate: loss.SAPO, Entropy: 0.1}},
		{Name: "sapo of sequences", Shape: with(net.Tanh, true), Objective: loss.Objective{Surrogate: loss.SAPO, Sequence: true, KL: 0.3, Value: 0.5}},
		{Name: "gmpo", Shape: with(net.Tanh, false), Objective: loss.Objective{Surrogate: loss.GMPO, Sequence: true, Entropy: 0.1}},
		{Name: "clip-cov", Shape: with(net.Tanh, false), Objective: loss.Objective{Surrogate: loss.ClipCov, Entropy: 0.1}},
		{Name: "clip-cov of sequences", Shape: with(net.Tanh, false), Objective: loss.Objective{Surrogate: loss.ClipCov, Sequence: true}},
		{Name: "kl-cov", Shape: with(net.Tanh, true), Objective: loss.Objective{Surrogate: loss.KLCov, Entropy: 0.1, Value: 0.5}},
		{Name: "linear", Shape: net.Shape{Inputs: 5, Actions: 2}, Objective: loss.Objective{Entropy: 0.1}},
		{Name: "one action", Shape: net.Shape{Inputs: 5, Hidden: []int{3}, Actions: 1, Value: true}, Objective: loss.Objective{Value: 1}},
		{Name: "two convolutions", Shape: image, Objective: loss.Objective{Entropy: 0.1, KL: 0.3, Value: 0.5}},
		{Name: "convolution without hidden layer", Shape: bare, Objective: loss.Objective{Entropy: 0.1, Value: 0.5}},
	}
	for i := range all {
		o := &all[i].Objective
		o.Low, o.High, o.Tau, o.Cov = 0.2, 0.3, [2]float64{1, 1.5}, loss.Cov{Share: 0.2, Low: 0.01, High: 2, KL: 0.7}
	}
	return all
}

// Wider returns the cases that the kernels cannot differentiate.
func Wider() []Case {
	square := net.Shape{Inputs: 11, Hidden: []int{8, 8, 8}, Actions: 4, Value: true}
	with := func(a net.Activation, norm, residual bool) net.Shape {
		s := square
		s.Activation, s.LayerNorm, s.Residual = a, norm, residual
		return s
	}
	image := net.Shape{
		Inputs: 2 * 4 * 3, Planes: [3]int{2, 4, 3}, Kernel: 3, Filters: []int{5, 3}, Hidden: []int{6, 6}, Actions: 3,
		Activation: net.GELU, Value: true, LayerNorm: true, Residual: true,
	}
	o := loss.Objective{Low: 0.2, High: 0.3, Dual: 1.4, Entropy: 0.1, KL: 0.3, Estimator: loss.K2, Value: 0.5, ValueClip: 0.2}
	sequence := o
	sequence.Sequence, sequence.ValueClip, sequence.Huber = true, 0, 0.7
	return []Case{
		{"gelu", with(net.GELU, false, false), o},
		{"leaky relu", with(net.LeakyReLU, false, false), o},
		{"softplus", with(net.Softplus, false, false), o},
		{"mish", with(net.Mish, false, false), o},
		{"layer norm", with(net.Tanh, true, false), o},
		{"residual", with(net.ReLU, false, true), o},
		{"norm and residual", with(net.Mish, true, true), sequence},
		{"norm behind convolutions", image, o},
	}
}

// Make returns the network of c with random parameters and n random rows in
// sequences of three, of which the last row has no weight.
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
	for i := range n {
		actions := c.Shape.Actions
		taken := random.IntN(actions)
		rows.Action[i], rows.Sequence[i] = int32(taken), int32(i/3)
		for a := range actions {
			if a == taken || random.IntN(4) != 0 {
				rows.Mask[i*actions+a] = 1
			}
		}
		rows.Old[i] = float32(-math.Log(float64(actions)) + 0.3*random.NormFloat64())
		rows.Reference[i] = rows.Old[i] + normal(0.3)
		rows.Advantage[i], rows.Estimate[i], rows.Target[i] = normal(1), normal(1), normal(1)
		if i < n-1 {
			rows.Weight[i] = float32(1+i%3) / float32(n)
		}
	}
	return network, params, rows
}
