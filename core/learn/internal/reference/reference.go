// Package reference computes the PPO objective and its gradient by hand, in
// double precision and plain loops: the yardstick that the autodiff graph is
// tested against. Nothing but tests imports it.
package reference

import (
	"math"

	"github.com/merit-rl/merit/core/learn/internal/loss"
	"github.com/merit-rl/merit/core/learn/internal/net"
)

// Result is the objective, its gradient in the layout of the parameters, and
// what was found of each row.
type Result struct {
	Loss                    float64
	Gradient                []float64
	LogProb, Entropy, Value []float64
}

// Gradient computes the objective of rows and its gradient.
func Gradient(n *net.Net, params []float64, c loss.Coefficients, r *loss.Rows) Result {
	res := Result{Gradient: make([]float64, n.Params)}
	for i := range r.Weight {
		p := pass{net: n, params: params, gradient: res.Gradient}
		p.forward(widen(r.Input[i*n.Inputs:][:n.Inputs]))
		p.objective(c, r, i, &res)
	}
	return res
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

// objective adds row i to res and sends its gradient back.
func (p *pass) objective(c loss.Coefficients, r *loss.Rows, i int, res *Result) {
	actions := p.net.Actions
	z, taken, sum := make([]float64, actions), 0, 0.0
	for a := range z {
		z[a] = p.logits[a] + float64(r.Shift[i*actions+a])
		sum += math.Exp(z[a])
		if r.Taken[i*actions+a] == 1 {
			taken = a
		}
	}
	prob, entropy := make([]float64, actions), math.Log(sum)
	for a := range z {
		prob[a] = math.Exp(z[a]) / sum
		entropy -= prob[a] * z[a]
	}
	logProb := z[taken] - math.Log(sum)
	weight, advantage := float64(r.Weight[i]), float64(r.Advantage[i])
	ratio := math.Exp(logProb - float64(r.Old[i]))

	row := -min(ratio*advantage, float64(r.Cap[i])) - c.Entropy*entropy
	var byLogProb float64
	if ratio*advantage <= float64(r.Cap[i]) {
		byLogProb = -ratio * advantage
	}
	if c.KL != 0 {
		toReference := float64(r.Reference[i]) - logProb
		row += c.KL * (math.Exp(toReference) - 1 - toReference)
		byLogProb += c.KL * (1 - math.Exp(toReference))
	}
	byLogit := make([]float64, actions)
	for a := range byLogit {
		indicator := 0.0
		if a == taken {
			indicator = 1
		}
		byEntropy := -prob[a] * (z[a] - math.Log(sum) + entropy) // ∂H/∂z
		byLogit[a] = weight * (byLogProb*(indicator-prob[a]) - c.Entropy*byEntropy)
	}
	back := p.backLayer(&p.net.Policy, p.last, byLogit)
	if p.net.Critic != nil {
		miss := p.value - float64(r.Target[i])
		row += c.Value / 2 * max(miss*miss, float64(r.Floor[i]))
		if miss*miss < float64(r.Floor[i]) {
			miss = 0
		}
		for j, g := range p.backLayer(p.net.Critic, p.last, []float64{weight * c.Value * miss}) {
			back[j] += g
		}
		res.Value = append(res.Value, p.value)
	}
	p.backTorso(back)
	res.Loss += weight * row
	res.LogProb, res.Entropy = append(res.LogProb, logProb), append(res.Entropy, entropy)
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
