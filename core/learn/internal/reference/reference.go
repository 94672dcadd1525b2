// Package reference computes the objective of package loss and its gradient by
// hand, in double precision and plain loops: the yardstick that fast paths are
// tested against. Nothing but tests imports it.
package reference

import (
	"math"
	"slices"

	"github.com/merit-rl/merit/core/learn/internal/loss"
	"github.com/merit-rl/merit/core/learn/internal/net"
)

// Result is the objective, its gradient in the layout of the parameters, and
// what was found of each row.
type Result struct {
	Loss                           float64
	Gradient                       []float64
	LogProb, Entropy, Value, Ratio []float64
	Logits, ByLogit, ByValue       []float64 // rows × actions, the same, rows
	own                            []float64 // the ratio of the row itself
}

// Gradient computes the objective of rows and its gradient.
func Gradient(n *net.Net, params []float64, o loss.Objective, r *loss.Rows) Result {
	res, passes := forward(n, params, o, r)
	res.Gradient = make([]float64, n.Params)
	for i, p := range passes {
		p.gradient = res.Gradient
		res.Loss += float64(r.Weight[i]) * term(o, r, i, &res, &res)
		p.back(derivative(o, r, i, p, &res))
	}
	return res
}

// Loss computes the objective of rows. What it holds constant for the
// derivative has the values that it has in stop; with stop nil nothing is
// constant.
func Loss(n *net.Net, params []float64, o loss.Objective, r *loss.Rows, stop *Result) (sum float64) {
	res, _ := forward(n, params, o, r)
	for i := range r.Weight {
		sum += float64(r.Weight[i]) * term(o, r, i, &res, stop)
	}
	return sum
}

// pass is one row on its way through the network and back.
type pass struct {
	net              *net.Net
	params, gradient []float64
	deviations       []float64   // by layer, of what enters before it is normalized; 0 where it is not
	inputs, sums     [][]float64 // by torso layer: the patches or activations that enter, the sums before the activation
	last             []float64   // activations that enter the heads
	logits           []float64
	value            float64
}

func (p *pass) forward(x []float64) {
	for i := range p.net.Torso {
		l := &p.net.Torso[i]
		if l.Patches != nil {
			patches := make([]float64, l.Cells*l.In)
			net.Gather(l.Patches, patches, x, len(x))
			x = patches
		}
		before := x
		x = p.enter(i, x)
		sums := p.multiply(l, x)
		p.inputs, p.sums = append(p.inputs, x), append(p.sums, sums)
		x = make([]float64, len(sums))
		for j, s := range sums {
			x[j] = p.net.Activation.Value(s)
			if p.net.Adds(i) {
				x[j] += before[j]
			}
		}
	}
	x = p.enter(len(p.net.Torso), x)
	p.last = x
	p.logits = p.multiply(&p.net.Policy, x)
	if p.net.Critic != nil {
		p.value = p.multiply(p.net.Critic, x)[0]
	}
}

// enter returns what layer i multiplies.
func (p *pass) enter(i int, x []float64) []float64 {
	if !p.net.Normalises(i) {
		p.deviations = append(p.deviations, 0)
		return x
	}
	n, mean, square := float64(len(x)), 0.0, 0.0
	for _, v := range x {
		mean, square = mean+v/n, square+v*v/n
	}
	deviation := math.Sqrt(square - mean*mean + net.NormEpsilon)
	p.deviations = append(p.deviations, deviation)
	y := make([]float64, len(x))
	for j, v := range x {
		y[j] = (v - mean) / deviation
	}
	return y
}

// leave turns back, the gradient of y, which layer i multiplies, into that of
// what enter took.
func (p *pass) leave(i int, y, back []float64) {
	if p.deviations[i] == 0 {
		return
	}
	n, mean, along := float64(len(y)), 0.0, 0.0
	for j, g := range back {
		mean, along = mean+g/n, along+g*y[j]/n
	}
	for j := range back {
		back[j] = (back[j] - mean - along*y[j]) / p.deviations[i]
	}
}

func (p *pass) multiply(l *net.Layer, x []float64) []float64 {
	y := make([]float64, l.Width())
	w, b := net.Split(l, p.params)
	for cell := range l.Cells {
		for j := range l.Out {
			sum := b[j]
			for k := range l.In {
				sum += x[cell*l.In+k] * w[k*l.Out+j]
			}
			y[cell*l.Out+j] = sum
		}
	}
	return y
}

func (p *pass) backTorso(back []float64) {
	p.leave(len(p.net.Torso), p.last, back)
	for i := len(p.net.Torso) - 1; i >= 0; i-- {
		l, skipped := &p.net.Torso[i], slices.Clone(back)
		for j, s := range p.sums[i] {
			back[j] *= p.net.Activation.Slope(s)
		}
		back = p.backLayer(l, p.inputs[i], back)
		p.leave(i, p.inputs[i], back)
		if p.net.Adds(i) {
			for j := range back {
				back[j] += skipped[j]
			}
		}
		if l.Patches != nil && i > 0 {
			image := make([]float64, p.net.Torso[i-1].Width())
			net.Scatter(l.Patches, image, back, len(image))
			back = image
		}
	}
}

// backLayer adds the gradient of l's parameters and returns that of its input.
func (p *pass) backLayer(l *net.Layer, x, by []float64) []float64 {
	w, _ := net.Split(l, p.params)
	gw, gb := net.Split(l, p.gradient)
	out := make([]float64, l.Cells*l.In)
	for cell := range l.Cells {
		for j := range l.Out {
			g := by[cell*l.Out+j]
			gb[j] += g
			for k := range l.In {
				gw[k*l.Out+j] += g * x[cell*l.In+k]
				out[cell*l.In+k] += g * w[k*l.Out+j]
			}
		}
	}
	return out
}

func widen(x []float32) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = float64(v)
	}
	return y
}
