package net

import (
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/gonum"
)

// MaxRows is the most observations that one Forward takes. It keeps the buffers
// in the cache, and gonum's product of layers up to 192 wide below the size
// from which it starts goroutines.
const MaxRows = 64

// Buffers holds the intermediate results of Forward. One serves one call at a
// time.
type Buffers struct {
	Input  []float32 // MaxRows × Inputs: the caller writes the observations here
	Logits []float32 // rows × Actions
	Values []float32 // rows; empty without a critic
	hidden [2][]float32
	patch  []float32
}

// NewBuffers returns buffers for n.
func (n *Net) NewBuffers() *Buffers {
	b := &Buffers{Input: make([]float32, MaxRows*n.Inputs), Logits: make([]float32, MaxRows*n.Actions)}
	if n.Critic != nil {
		b.Values = make([]float32, MaxRows)
	}
	var width [2]int
	patch := 0
	for i := range n.Torso {
		l := &n.Torso[i]
		width[i%2] = max(width[i%2], l.Width())
		if l.Patches != nil {
			patch = max(patch, l.Cells*l.In)
		}
	}
	b.hidden[0] = make([]float32, MaxRows*width[0])
	b.hidden[1] = make([]float32, MaxRows*width[1])
	b.patch = make([]float32, MaxRows*patch)
	return b
}

// Forward computes logits and values of the first rows observations in
// b.Input, at most MaxRows. What it computes of one observation depends on
// that observation alone, bit for bit: gonum's product without transposition
// adds in the order of the inputs, whatever the number of rows.
func (n *Net) Forward(params []float32, b *Buffers, rows int) {
	x, width := b.Input[:rows*n.Inputs], n.Inputs
	for i := range n.Torso {
		l := &n.Torso[i]
		if l.Patches != nil {
			Gather(l.Patches, b.patch, x, width)
			x = b.patch
		}
		y := b.hidden[i%2][:rows*l.Width()]
		l.multiply(params, y, x, rows)
		_, bias := Split(l, params)
		n.Activation.apply(y, bias)
		x, width = y, l.Width()
	}
	n.Policy.multiply(params, b.Logits, x, rows)
	n.Policy.addBias(params, b.Logits[:rows*n.Actions])
	if n.Critic != nil {
		n.Critic.multiply(params, b.Values, x, rows)
		n.Critic.addBias(params, b.Values[:rows])
	}
}

// multiply computes y = x·W for all cells of all rows.
func (l *Layer) multiply(params, y, x []float32, rows int) {
	w, _ := Split(l, params)
	gonum.Implementation{}.Sgemm(blas.NoTrans, blas.NoTrans, rows*l.Cells, l.Out, l.In,
		1, x, l.In, w, l.Out, 0, y, l.Out)
}

func (l *Layer) addBias(params, y []float32) {
	_, bias := Split(l, params)
	for i := range y {
		y[i] += bias[i%len(bias)]
	}
}
