// Package graph is the door to gorgonia: it computes the gradient of the
// network's parameters by automatic differentiation, over the parameter slice
// that inference and optimiser use. The objective is package loss's: its
// derivative D by the network's outputs Y is an input, and the gradient of
// Σ Y·D is that of the objective.
//
// What it takes care of: gorgonia adds to gradients instead of setting them,
// so they are cleared after each run, and a result that is not a number is no
// error to it, so the caller checks what comes out.
package graph

import (
	"fmt"

	_ "go4.org/unsafe/assume-no-moving-gc" // gorgonia's tensors hold pointers as numbers; this pins the check that a Go release must pass
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/merit-rl/merit/core/learn/internal/net"
)

// Graph computes the gradient of a fixed number of rows. It is not safe for
// concurrent use; graphs of their own over the same parameters are.
type Graph struct {
	Input    []float32 // rows × inputs: the caller fills it before Run …
	ByLogits []float32 // … and the derivative by the logits, rows × actions …
	ByValues []float32 // … and by the values; empty without a critic

	net     *net.Net
	input   []float32 // what the first layer multiplies: Input, or the patches of it
	machine gorgonia.VM
	weights gorgonia.Nodes // weights and biases in the order of the parameters
}

// New builds the graph of n with parameters params for the given number of
// rows. It keeps params: what is written to them is used by the next Run.
func New(n *net.Net, params []float32, rows int) (*Graph, error) {
	g := &Graph{Input: make([]float32, rows*n.Inputs), ByLogits: make([]float32, rows*n.Actions), net: n}
	g.input = g.Input
	b := &builder{graph: gorgonia.NewGraph(), params: params, rows: rows}
	logits, value := b.network(n, g)
	total := b.weighted(logits, b.matrix("by logits", g.ByLogits, n.Actions))
	if value != nil {
		g.ByValues = make([]float32, rows)
		total = b.binary(gorgonia.Add, total, b.weighted(value, b.column("by values", g.ByValues)))
	}
	if b.err != nil {
		return nil, fmt.Errorf("building the graph: %w", b.err)
	}
	gradients, err := gorgonia.Grad(total, b.weights...)
	if err != nil {
		return nil, fmt.Errorf("differentiating the graph: %w", err)
	}
	g.weights = b.weights
	// Grad also makes gradients that nobody asked for, such as the input's,
	// which costs a quarter of a run: keep what leads to the results.
	needed := b.graph.SubgraphRoots(gradients...)
	g.machine = gorgonia.NewTapeMachine(needed, gorgonia.BindDualValues(b.weights...))
	return g, nil
}

// Run writes the gradient, in the layout of the parameters, into dst.
func (g *Graph) Run(dst []float32) error {
	if first := g.net.Layers()[0]; first.Patches != nil {
		net.Gather(first.Patches, g.input, g.Input, g.net.Inputs)
	}
	g.machine.Reset()
	if err := g.machine.RunAll(); err != nil {
		return fmt.Errorf("running the graph: %w", err)
	}
	for _, w := range g.weights {
		grad, err := w.Grad()
		if err != nil {
			return fmt.Errorf("gradient of %s: %w", w.Name(), err)
		}
		values := grad.Data().([]float32)
		dst = dst[copy(dst, values):]
		clear(values)
	}
	return nil
}

// Close frees the graph.
func (g *Graph) Close() error { return g.machine.Close() }

// builder adds nodes to a graph until the first error.
type builder struct {
	graph   *gorgonia.ExprGraph
	params  []float32
	rows    int
	weights gorgonia.Nodes
	err     error
}

func (b *builder) network(n *net.Net, g *Graph) (logits, value *gorgonia.Node) {
	var x *gorgonia.Node
	if first := n.Layers()[0]; first.Patches != nil {
		g.input = make([]float32, b.rows*first.Cells*first.In)
		x = b.matrix("input", g.input, first.In)
	} else {
		x = b.matrix("input", g.input, n.Inputs)
	}
	for i := range n.Torso {
		l := &n.Torso[i]
		if l.Patches != nil && i > 0 {
			p := patches{Patches: l.Patches, layer: l.Name, width: n.Torso[i-1].Width()}
			x = b.op(func() (*gorgonia.Node, error) { return gorgonia.ApplyOp(p, x) })
		}
		x = b.activation(n.Activation, b.layer(l, x))
		if last := i+1 == len(n.Torso) || n.Torso[i+1].Patches == nil; last && l.Patches != nil {
			x = b.reshape(x, b.rows, l.Width())
		}
	}
	logits = b.layer(&n.Policy, x)
	if n.Critic != nil {
		value = b.reshape(b.layer(n.Critic, x), b.rows)
	}
	return logits, value
}

// layer adds x·W + bias.
func (b *builder) layer(l *net.Layer, x *gorgonia.Node) *gorgonia.Node {
	weights, biases := net.Split(l, b.params)
	w := b.matrix(l.Name+" weights", weights, l.Out)
	c := b.matrix(l.Name+" biases", biases, l.Out)
	b.weights = append(b.weights, w, c)
	y := b.binary(gorgonia.Mul, x, w)
	return b.op(func() (*gorgonia.Node, error) { return gorgonia.BroadcastAdd(y, c, nil, []byte{0}) })
}

func (b *builder) activation(a net.Activation, x *gorgonia.Node) *gorgonia.Node {
	switch a {
	case net.Tanh:
		return b.unary(gorgonia.Tanh, x)
	case net.Sigmoid:
		return b.unary(gorgonia.Sigmoid, x)
	case net.SiLU:
		return b.binary(gorgonia.HadamardProd, x, b.unary(gorgonia.Sigmoid, x))
	}
	return b.unary(gorgonia.Rectify, x)
}

// matrix adds an input that reads values, row by row.
func (b *builder) matrix(name string, values []float32, columns int) *gorgonia.Node {
	value := tensor.New(tensor.WithShape(len(values)/columns, columns), tensor.WithBacking(values))
	return gorgonia.NewMatrix(b.graph, tensor.Float32, gorgonia.WithName(name), gorgonia.WithShape(value.Shape()...), gorgonia.WithValue(value))
}

// column adds an input that reads one value a row.
func (b *builder) column(name string, values []float32) *gorgonia.Node {
	value := tensor.New(tensor.WithShape(len(values)), tensor.WithBacking(values))
	return gorgonia.NewVector(b.graph, tensor.Float32, gorgonia.WithName(name), gorgonia.WithShape(len(values)), gorgonia.WithValue(value))
}

func (b *builder) unary(f func(*gorgonia.Node) (*gorgonia.Node, error), x *gorgonia.Node) *gorgonia.Node {
	return b.op(func() (*gorgonia.Node, error) { return f(x) })
}

func (b *builder) binary(f func(_, _ *gorgonia.Node) (*gorgonia.Node, error), x, y *gorgonia.Node) *gorgonia.Node {
	return b.op(func() (*gorgonia.Node, error) { return f(x, y) })
}

// weighted adds the sum of x·by.
func (b *builder) weighted(x, by *gorgonia.Node) *gorgonia.Node {
	product := b.binary(gorgonia.HadamardProd, x, by)
	return b.op(func() (*gorgonia.Node, error) { return gorgonia.Sum(product) })
}

func (b *builder) reshape(x *gorgonia.Node, shape ...int) *gorgonia.Node {
	return b.op(func() (*gorgonia.Node, error) { return gorgonia.Reshape(x, shape) })
}

func (b *builder) op(make func() (*gorgonia.Node, error)) *gorgonia.Node {
	if b.err != nil {
		return nil
	}
	node, err := make()
	b.err = err
	return node
}
