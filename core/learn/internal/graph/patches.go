package graph

import (
	"fmt"
	"hash"
	"hash/fnv"

	"github.com/chewxy/hm"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/merit-rl/merit/core/learn/internal/net"
)

// patches is a gorgonia operation that makes patches of a batch of images, or
// sums patches back into images: each is the other's gradient.
type patches struct {
	*net.Patches
	layer    string
	width    int // values of an image
	backward bool
}

// Arity returns 1.
func (p patches) Arity() int { return 1 }

// Type says that a matrix becomes a matrix.
func (p patches) Type() hm.Type {
	return hm.NewFnType(hm.TypeVariable('a'), hm.TypeVariable('a'))
}

// InferShape keeps the cells: [rows·cells, channels] and [rows·cells, patch].
func (p patches) InferShape(in ...gorgonia.DimSizer) (tensor.Shape, error) {
	cells, err := in[0].DimSize(0)
	if p.backward {
		return tensor.Shape{cells, p.width / p.Cells}, err
	}
	return tensor.Shape{cells, p.Size}, err
}

// Do runs the operation.
func (p patches) Do(in ...gorgonia.Value) (gorgonia.Value, error) {
	src, ok := in[0].Data().([]float32)
	if !ok {
		return nil, fmt.Errorf("%s reads float32 only, not %T", p, in[0].Data())
	}
	rows := in[0].Shape()[0]
	if p.backward {
		dst := make([]float32, rows/p.Cells*p.width)
		net.Scatter(p.Patches, dst, src, p.width)
		return tensor.New(tensor.WithShape(rows, p.width/p.Cells), tensor.WithBacking(dst)), nil
	}
	dst := make([]float32, rows*p.Size)
	net.Gather(p.Patches, dst, src, p.width)
	return tensor.New(tensor.WithShape(rows, p.Size), tensor.WithBacking(dst)), nil
}

// ReturnsPtr is false: the result is new.
func (p patches) ReturnsPtr() bool { return false }

// CallsExtern is false: it is Go.
func (p patches) CallsExtern() bool { return false }

// OverwritesInput is −1: it does not.
func (p patches) OverwritesInput() int { return -1 }

// WriteHash tells equal operations from others: gorgonia merges nodes by it.
func (p patches) WriteHash(h hash.Hash) { _, _ = h.Write([]byte(p.String())) }

// Hashcode is the hash that WriteHash feeds.
func (p patches) Hashcode() uint32 {
	h := fnv.New32a()
	p.WriteHash(h)
	return h.Sum32()
}

// String names the operation in gorgonia's errors.
func (p patches) String() string {
	if p.backward {
		return "sum patches of " + p.layer
	}
	return "patches of " + p.layer
}

// DiffWRT reports that the one input has a gradient.
func (p patches) DiffWRT(int) []bool { return []bool{true} }

// SymDiff returns the gradient for the input: the opposite operation.
func (p patches) SymDiff(_ gorgonia.Nodes, _, grad *gorgonia.Node) (gorgonia.Nodes, error) {
	p.backward = !p.backward
	node, err := gorgonia.ApplyOp(p, grad)
	return gorgonia.Nodes{node}, err
}
