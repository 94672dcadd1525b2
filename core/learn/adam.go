package learn

// adam is the optimizer of Kingma and Ba 2015 over a flat parameter slice.
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
