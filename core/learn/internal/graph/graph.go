// Package graph is the door to gorgonia: it computes the gradient of the PPO
// objective by automatic differentiation, over the parameter slice that
// inference and optimiser use.
//
// What it takes care of: gorgonia adds to gradients instead of setting them,
// its SoftMax and LogSoftMax look at the wrong row's maximum and merge with
// each other, and a result that is not a number is no error to it. So the
// objective is written with exp and log of shifted logits, gradients are
// cleared after each run, and the caller checks what comes out.
package graph

import (
	"fmt"

	_ "go4.org/unsafe/assume-no-moving-gc" // gorgonia's tensors hold pointers as numbers; this pins the check that a Go release must pass
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/merit-rl/merit/core/learn/internal/loss"
	"github.com/merit-rl/merit/core/learn/internal/net"
)

// Graph computes the objective of a fixed number of rows. It is not safe for
// concurrent use; graphs of their own over the same parameters are.
type Graph struct {
	Rows *loss.Rows // the caller fills them before Run

	net     *net.Net
	input   []float32 // what the first layer multiplies: Rows.Input, or the patches of it
	machine gorgonia.VM
	weights gorgonia.Nodes // weights and biases in the order of the parameters
	results [4]gorgonia.Value
}

// New builds the graph of n with parameters params for the given number of
// rows. It keeps params: what is written to them is used by the next Run.
func New(n *net.Net, params []float32, c loss.Coefficients, rows int) (*Graph, error) {
	g := &Graph{Rows: loss.NewRows(rows, n.Inputs, n.Actions), net: n}
	g.input = g.Rows.Input
	b := &builder{graph: gorgonia.NewGraph(), params: params, rows: rows}
	logits, value := b.network(n, g)
	total := b.objective(c, g, logits, value)
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
	needed := b.graph.SubgraphRoots(append(gradients, b.results...)...)
	g.machine = gorgonia.NewTapeMachine(needed, gorgonia.BindDualValues(b.weights...))
	return g, nil
}

// Run computes the objective of Rows and writes all that was found into dst.
// gorgonia uses its memory again in the next run, so dst is a copy.
func (g *Graph) Run(dst *loss.Result) error {
	if first := g.net.Layers()[0]; first.Patches != nil {
		net.Gather(first.Patches, g.input, g.Rows.Input, g.net.Inputs)
	}
	g.machine.Reset()
	if err := g.machine.RunAll(); err != nil {
		return fmt.Errorf("running the graph: %w", err)
	}
	rest := dst.Gradient
	for _, w := range g.weights {
		grad, err := w.Grad()
		if err != nil {
			return fmt.Errorf("gradient of %s: %w", w.Name(), err)
		}
		values := grad.Data().([]float32)
		rest = rest[copy(rest, values):]
		clear(values)
	}
	dst.Loss = float64(g.results[0].Data().(float32))
	copy(dst.LogProb, g.results[1].Data().([]float32))
	copy(dst.Entropy, g.results[2].Data().([]float32))
	if g.net.Critic != nil {
		copy(dst.Value, g.results[3].Data().([]float32))
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
	results gorgonia.Nodes
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
