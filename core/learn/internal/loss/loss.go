// Package loss holds the inputs and results of the PPO objective, as the
// autodiff graph and its reference read and write them.
//
// The objective, a sum over rows with weight w:
//
//	L = Σ w·( −min(r·A, cap) − e·H + k·k3 + v·½·max((V−G)², floor) )
//	r = π(a)/old(a)    cap = (1+high)·A if A ≥ 0, else (1−low)·A
//	k3 = ref(a)/π(a) − 1 − log(ref(a)/π(a))
//
// min(r·A, cap) is min(r·A, clip(r)·A) exactly. The clipped value loss
// max((V−G)², (clip(V)−G)²), where clip keeps V within c of the old value, is
// max((V−G)², floor) exactly, with floor the squared distance of G from that
// interval. So no clamp is needed inside the graph.
package loss

// Masked is added to the logit of an action that is not available: finite,
// because 0·∞ is not a number, and so low that its probability is 0.
const Masked = -1e9

// Coefficients weigh the terms. A term with coefficient 0 is omitted.
type Coefficients struct {
	Entropy float64
	KL      float64
	Value   float64
}

// Rows are the inputs of the objective, one value a row where nothing else is
// said. Padding rows have weight 0 and any other finite content.
type Rows struct {
	Input     []float32 // rows × inputs
	Shift     []float32 // rows × actions, added to the logits: minus a value near the row's largest one, or Masked
	Taken     []float32 // rows × actions: 1 at the action taken, else 0
	Old       []float32 // log-probability when it was taken
	Advantage []float32
	Cap       []float32
	Reference []float32 // log-probability under the KL term's reference
	Target    []float32 // of the critic
	Floor     []float32 // of the critic's squared error
	Weight    []float32
}

// NewRows returns n rows of zeros.
func NewRows(n, inputs, actions int) *Rows {
	column := func(width int) []float32 { return make([]float32, n*width) }
	return &Rows{
		Input: column(inputs), Shift: column(actions), Taken: column(actions), Old: column(1), Advantage: column(1),
		Cap: column(1), Reference: column(1), Target: column(1), Floor: column(1), Weight: column(1),
	}
}

// Result is what was found of some rows.
type Result struct {
	Loss     float64
	Gradient []float32 // in the layout of the parameters
	LogProb  []float32 // of the action taken, by row
	Entropy  []float32 // by row
	Value    []float32 // by row; zeros without a critic
}

// NewResult returns a result of zeros.
func NewResult(params, rows int) *Result {
	return &Result{
		Gradient: make([]float32, params), LogProb: make([]float32, rows), Entropy: make([]float32, rows), Value: make([]float32, rows),
	}
}

// Cap returns the cap of an advantage for the ratio's bounds 1−low and 1+high.
func Cap(advantage, low, high float64) float64 {
	if advantage >= 0 {
		return advantage * (1 + high)
	}
	return advantage * (1 - low)
}

// Floor returns the floor of the critic's squared error: the squared distance
// of target from the values within clip of old; 0 if clip is 0, which means
// no clipping.
func Floor(target, old, clip float64) float64 {
	if clip == 0 {
		return 0
	}
	d := max(0, target-old-clip, old-clip-target)
	return d * d
}
