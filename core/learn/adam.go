package learn

import "math"

// adam is the optimiser of Kingma and Ba 2015 over a flat parameter slice.
type adam struct {
	beta1, beta2, epsilon float64
	first, second         []float32 // moving means of the gradient and of its square
	steps                 uint64
}

func newAdam(cfg PPOConfig, params int) adam {
	return adam{
		beta1: cfg.AdamBeta1, beta2: cfg.AdamBeta2, epsilon: cfg.AdamEpsilon,
		first: make([]float32, params), second: make([]float32, params),
	}
}

// step moves params against gradient, which it multiplies by scale.
func (a *adam) step(params, gradient []float32, scale, rate float64) {
	a.steps++
	t := float64(a.steps)
	// The corrections of both means in one factor each, as in the paper's
	// section 2; epsilon stays outside the root.
	correct1 := 1 / (1 - math.Pow(a.beta1, t))
	correct2 := 1 / (1 - math.Pow(a.beta2, t))
	for i, g := range gradient {
		g := float64(g) * scale
		m := a.beta1*float64(a.first[i]) + (1-a.beta1)*g
		v := a.beta2*float64(a.second[i]) + (1-a.beta2)*g*g
		a.first[i], a.second[i] = float32(m), float32(v)
		params[i] -= float32(rate * m * correct1 / (math.Sqrt(v*correct2) + a.epsilon))
	}
}
