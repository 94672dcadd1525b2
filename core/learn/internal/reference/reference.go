// Package reference computes the objective of package loss and its gradient by
// hand, in double precision and plain loops: the yardstick that fast paths are
// tested against. Nothing but tests imports it.
package reference

import (
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
		sums := p.multiply(l, x)
		p.inputs, p.sums = append(p.inputs, x), append(p.sums, sums)
		x = make([]float64, len(sums))
		for j, s := range sums {
			x[j] = p.net.Activation.Value(s)
		}
	}
	p.last = x
	p.logits = p.multiply(&p.net.Policy, x)
	if p.net.Critic != nil {
		p.value = p.multiply(p.net.Critic, x)[0]
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
	for i := len(p.net.Torso) - 1; i >= 0; i-- {
		l := &p.net.Torso[i]
		for j, s := range p.sums[i] {
			back[j] *= p.net.Activation.Slope(s)
		}
		back = p.backLayer(l, p.inputs[i], back)
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
