package advantage

// StepReturns writes discounted returns to go into dst and returns dst.
//
//	G_t = r_t + γ G_{t+1},  G_T = 0, or the bootstrap value of the last row
//
// Shapes: dst, rewards, end, bootstrap [rows]; rows of a trajectory stand
// together in step order; end marks the last step of each. bootstrap is read
// at those rows only and nil means 0 everywhere.
// Aliasing: dst may be rewards.
// Source: arXiv 2505.10978, Eq. 5.
func StepReturns(dst, rewards, bootstrap []float64, end []bool, gamma float64) []float64 {
	sameLength(len(dst), "rewards", len(rewards))
	sameLength(len(dst), "end", len(end))
	if bootstrap != nil {
		sameLength(len(dst), "bootstrap", len(bootstrap))
	}
	next := 0.0
	for i := len(dst) - 1; i >= 0; i-- {
		if end[i] {
			next = at(bootstrap, i)
		}
		next = rewards[i] + gamma*next
		dst[i] = next
	}
	return dst
}

// GeneralizedAdvantages writes generalized advantage estimates into dst and
// returns dst. dst plus values is the λ-return, the critic's target.
//
//	δ_t = r_t + γ V_{t+1} − V_t,  A_t = δ_t + γλ A_{t+1}
//
// After the last row of a trajectory A is 0 and V is its bootstrap value, which
// only a truncated trajectory has.
//
// Shapes: dst, rewards, values, end, bootstrap [rows]; order and bootstrap as
// in [StepReturns]. Aliasing: dst may be rewards.
// Source: arXiv 1506.02438, Eq. 16.
func GeneralizedAdvantages(dst, rewards, values, bootstrap []float64, end []bool, gamma, lambda float64) []float64 {
	sameLength(len(dst), "rewards", len(rewards))
	sameLength(len(dst), "values", len(values))
	sameLength(len(dst), "end", len(end))
	if bootstrap != nil {
		sameLength(len(dst), "bootstrap", len(bootstrap))
	}
	a, v := 0.0, 0.0
	for i := len(dst) - 1; i >= 0; i-- {
		if end[i] {
			a, v = 0, at(bootstrap, i)
		}
		a = rewards[i] + gamma*v - values[i] + gamma*lambda*a
		v = values[i]
		dst[i] = a
	}
	return dst
}

func at(x []float64, i int) float64 {
	if x == nil {
		return 0
	}
	return x[i]
}
