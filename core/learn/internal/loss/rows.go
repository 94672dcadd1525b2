package loss

// Rows are the inputs of the objective for a minibatch, with one value per row
// unless stated otherwise.
type Rows struct {
	Input     []float32 // rows × inputs; the network reads them, the objective does not
	Mask      []byte    // rows × actions: 0 = not available
	Action    []int32   // the action that was taken
	Old       []float32 // its log-probability at that time
	Advantage []float32
	Reference []float32 // its log-probability under the KL term's reference; read if KL is not 0
	Target    []float32 // of the critic
	Estimate  []float32 // of the critic when the action was taken; read if ValueClip is not 0
	Weight    []float32 // in the sum; a minibatch's mean needs 1/rows in it
	Sequence  []int32   // the episode; the rows of an episode are adjacent. Read if Objective.Sequence
}

// NewRows returns n rows of zeros.
func NewRows(n, inputs, actions int) *Rows {
	column := func(width int) []float32 { return make([]float32, n*width) }
	return &Rows{
		Input: column(inputs), Mask: make([]byte, n*actions), Action: make([]int32, n), Old: column(1), Advantage: column(1),
		Reference: column(1), Target: column(1), Estimate: column(1), Weight: column(1), Sequence: make([]int32, n),
	}
}

// Result is what was found of each row, without its weight.
type Result struct {
	LogProb  []float32 // of the action taken
	Entropy  []float32 // nats
	LogRatio []float64 // log-probability now minus then; after Couple that of the sequence
	Policy   []float64 // the surrogate's loss
	KL       []float64 // the estimate in the loss, without its coefficient; 0 without the term
	Value    []float64 // the critic's ½(V−G)², clipped if so configured
	Loss     []float64 // all terms with their coefficients
	Cut      []Cut     // what took the row's policy gradient
	logSum   []float64 // log Σ exp(logit) over the available actions
	marked   []bool    // by Couple: GMPO clipped the row's own ratio, clip-cov left it out, kl-cov holds it
	cov      []float64 // see Cov
}

// Cut says how the surrogate bounded a row.
type Cut byte

// The cuts: none; by [1−Low, 1+High] or by the covariance; by Dual.
const (
	CutNone Cut = iota
	CutClip
	CutDual
)

// NewResult returns the results of n rows.
func NewResult(n int) *Result {
	column := func() []float64 { return make([]float64, n) }
	return &Result{
		LogProb: make([]float32, n), Entropy: make([]float32, n), LogRatio: column(), Policy: column(), KL: column(),
		Value: column(), Loss: column(), Cut: make([]Cut, n), logSum: column(), marked: make([]bool, n), cov: column(),
	}
}
