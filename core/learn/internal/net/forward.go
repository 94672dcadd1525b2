package net

import "github.com/merit-rl/merit/core/learn/internal/product"

// MaxRows is the most observations that one Forward takes. It keeps the buffers
// in the cache.
const MaxRows = 64

// Weights are the weights of a network laid out for products.
type Weights struct {
	net    *Net
	layers []product.Right // in the order of the parameters
}

// NewWeights returns room for the weights of n.
func (n *Net) NewWeights() *Weights {
	return &Weights{net: n, layers: make([]product.Right, len(n.Layers()))}
}

// Pack takes the weights of params. They must not change while w is used.
func (w *Weights) Pack(params []float32) {
	for i, l := range w.net.all {
		values, _ := Split(l, params)
		w.layers[i].Pack(values, l.In, l.Out)
	}
}

// Refer is Pack for few rows: cheap, and the results have the same bits.
func (w *Weights) Refer(params []float32) {
	for i, l := range w.net.all {
		values, _ := Split(l, params)
		w.layers[i].Refer(values, l.In, l.Out)
	}
}

// PackTransposed takes the transposed weights, which the gradient of inputs
// needs, of all layers but the first, under the same rule.
func (w *Weights) PackTransposed(params []float32) {
	for i, l := range w.net.all {
		if i > 0 || len(w.net.Torso) == 0 {
			values, _ := Split(l, params)
			w.layers[i].PackTransposed(values, l.Out, l.In)
		}
	}
}

// Layer returns the weights of layer i, counted as Layers does.
func (w *Weights) Layer(i int) *product.Right { return &w.layers[i] }

// Buffers holds the intermediate results of Forward. One serves one call at a
// time.
type Buffers struct {
	Input   []float32 // MaxRows × Inputs: the caller writes the observations here
	Logits  []float32 // rows × Actions
	Values  []float32 // rows; empty without a critic
	hidden  [2][]float32
	normal  []float32 // what enters a layer, normalized
	patch   []float32
	weights *Weights
	params  []float32
}

// NewBuffers returns buffers for n.
func (n *Net) NewBuffers() *Buffers {
	b := &Buffers{Input: make([]float32, MaxRows*n.Inputs), Logits: make([]float32, MaxRows*n.Actions), weights: n.NewWeights()}
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
	if n.LayerNorm {
		b.normal = make([]float32, MaxRows*max(width[0], width[1]))
	}
	return b
}

// fewRows is up to where laying weights out costs more than it gains.
const fewRows = 12

// Load takes the parameters for Forward with that many rows in all. They must not
// change until the next Load.
func (b *Buffers) Load(params []float32, rows int) {
	b.params = params
	if rows <= fewRows {
		b.weights.Refer(params)
		return
	}
	b.weights.Pack(params)
}

// Forward computes logits and values of the first rows observations in
// b.Input, at most MaxRows. What it computes of one observation depends on
// that observation alone, bit for bit, whatever the number of rows.
func (n *Net) Forward(b *Buffers, rows int) {
	x, width := b.Input[:rows*n.Inputs], n.Inputs
	for i := range n.Torso {
		l := &n.Torso[i]
		if l.Patches != nil {
			Gather(l.Patches, b.patch, x, width)
			x = b.patch
		}
		y := b.hidden[i%2][:rows*l.Width()]
		l.Apply(y, n.enter(b, i, x, rows*width), b.weights.Layer(i), b.params, rows, &n.Activation)
		if n.Adds(i) {
			product.Add(y, x)
		}
		x, width = y, l.Width()
	}
	head := len(n.Torso)
	x = n.enter(b, head, x, rows*width)
	n.Policy.Apply(b.Logits, x, b.weights.Layer(head), b.params, rows, nil)
	if n.Critic != nil {
		n.Critic.Apply(b.Values, x, b.weights.Layer(head+1), b.params, rows, nil)
	}
}

// enter returns what layer i multiplies, of the given number of values of x.
func (n *Net) enter(b *Buffers, i int, x []float32, values int) []float32 {
	if !n.Normalises(i) {
		return x
	}
	Normalise(b.normal[:values], x[:values], n.all[i].In)
	return b.normal
}

// Apply computes y = a(x·w + bias) for all cells of all rows; without a, the
// sums themselves. A ReLU leaves −0 where the sum was below 0.
func (l *Layer) Apply(y, x []float32, w *product.Right, params []float32, rows int, a *Activation) {
	_, bias := Split(l, params)
	rectify := a != nil && *a == ReLU
	product.Multiply(y, rows*l.Cells, product.Rows(x, l.In), w, product.Start{Bias: bias, Rectify: rectify})
	if a != nil && !rectify {
		a.Apply(y[:rows*l.Width()], y)
	}
}
