package net_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/learn/internal/losstest"
	"github.com/merit-rl/merit/core/learn/internal/net"
	"github.com/merit-rl/merit/core/learn/internal/reference"
)

// Promise: inference computes what the reference computes, for every kind of
// layer and activation.
func TestForwardMatchesReference(t *testing.T) {
	for _, c := range append(losstest.Cases(), losstest.Wider()...) {
		t.Run(c.Name, func(t *testing.T) {
			const rows = 23
			n, params, in := c.Make(t, rows)
			wide := make([]float64, len(params))
			for i, v := range params {
				wide[i] = float64(v)
			}
			want := reference.Gradient(n, wide, c.Objective, in)
			b := n.NewBuffers()
			copy(b.Input, in.Input)
			b.Load(params, rows)
			n.Forward(b, rows)
			for i, logit := range want.Logits {
				require.InDelta(t, logit, b.Logits[i], 5e-6)
			}
			for i := range b.Values[:min(rows, len(b.Values))] {
				require.InDelta(t, want.Value[i], b.Values[i], 5e-6)
			}
		})
	}
}

// Promise: a patch is the neighbourhood of its cell, zero outside the image,
// whether the image is stored by planes or by cells.
func TestPatches(t *testing.T) {
	n, err := net.New(net.Shape{Inputs: 12, Planes: [3]int{2, 2, 3}, Kernel: 3, Filters: []int{2, 1}, Actions: 1})
	require.NoError(t, err)
	planes := []float32{1, 2, 3, 4, 5, 6, 11, 12, 13, 14, 15, 16}
	got := make([]float32, 6*18)
	net.Gather(n.Torso[0].Patches, got, planes, 12)
	corner := []float32{0, 0, 0, 0, 0, 0, 0, 0, 1, 11, 2, 12, 0, 0, 4, 14, 5, 15}
	require.Equal(t, corner, got[:18])
	cells := []float32{1, 11, 2, 12, 3, 13, 4, 14, 5, 15, 6, 16}
	byCell := make([]float32, 6*18)
	net.Gather(n.Torso[1].Patches, byCell, cells, 12)
	require.Equal(t, got, byCell)
}

// Promise: Scatter is the transpose of Gather.
func TestScatterIsTheTranspose(t *testing.T) {
	n, err := net.New(net.Shape{Inputs: 24, Planes: [3]int{2, 3, 4}, Kernel: 3, Filters: []int{2}, Actions: 1})
	require.NoError(t, err)
	p := n.Torso[0].Patches
	random := rand.New(rand.NewPCG(1, 1))
	x, y := make([]float64, 2*24), make([]float64, 2*p.Cells*p.Size)
	for i := range x {
		x[i] = random.NormFloat64()
	}
	for i := range y {
		y[i] = random.NormFloat64()
	}
	gathered, scattered := make([]float64, len(y)), make([]float64, len(x))
	net.Gather(p, gathered, x, 24)
	net.Scatter(p, scattered, y, 24)
	var left, right float64
	for i := range y {
		left += gathered[i] * y[i]
	}
	for i := range x {
		right += x[i] * scattered[i]
	}
	require.InDelta(t, left, right, 1e-9)
}

// Promise: an image that is not the input is an error.
func TestImageOfAnotherSize(t *testing.T) {
	_, err := net.New(net.Shape{Inputs: 11, Planes: [3]int{1, 3, 4}, Kernel: 3, Filters: []int{2}, Actions: 1})
	require.ErrorContains(t, err, "does not have 11 values")
}
