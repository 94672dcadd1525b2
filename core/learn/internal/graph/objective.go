package graph

import (
	"gorgonia.org/gorgonia"

	"github.com/merit-rl/merit/core/learn/internal/loss"
)

// objective adds the sum over rows that package loss defines, and arranges for
// g to read the results.
func (b *builder) objective(c loss.Coefficients, g *Graph, logits, value *gorgonia.Node) *gorgonia.Node {
	r := g.Rows
	actions := g.net.Actions
	z := b.binary(gorgonia.Add, logits, b.matrix("shift", r.Shift, actions))
	e := b.unary(gorgonia.Exp, z)
	sum := b.sumRows(e)
	logSum := b.unary(gorgonia.Log, sum)
	taken := b.sumRows(b.binary(gorgonia.HadamardProd, z, b.matrix("taken", r.Taken, actions)))
	logProb := b.binary(gorgonia.Sub, taken, logSum)
	mean := b.binary(gorgonia.HadamardDiv, b.sumRows(b.binary(gorgonia.HadamardProd, e, z)), sum)
	entropy := b.binary(gorgonia.Sub, logSum, mean)

	ratio := b.unary(gorgonia.Exp, b.binary(gorgonia.Sub, logProb, b.column("old", r.Old)))
	gain := b.binary(gorgonia.MinBetween, b.binary(gorgonia.HadamardProd, ratio, b.column("advantage", r.Advantage)), b.column("cap", r.Cap))
	row := b.unary(gorgonia.Neg, gain)
	if c.Entropy != 0 {
		row = b.binary(gorgonia.Sub, row, b.scaled(c.Entropy, entropy))
	}
	if c.KL != 0 {
		toReference := b.binary(gorgonia.Sub, b.column("reference", r.Reference), logProb)
		k3 := b.binary(gorgonia.Sub, b.unary(gorgonia.Exp, toReference), toReference)
		k3 = b.binary(gorgonia.Sub, k3, gorgonia.NewConstant(float32(1)))
		row = b.binary(gorgonia.Add, row, b.scaled(c.KL, k3))
	}
	if value != nil {
		square := b.unary(gorgonia.Square, b.binary(gorgonia.Sub, value, b.column("target", r.Target)))
		floored := b.binary(gorgonia.MaxBetween, square, b.column("floor", r.Floor))
		row = b.binary(gorgonia.Add, row, b.scaled(c.Value/2, floored))
	}
	total := b.op(func() (*gorgonia.Node, error) {
		weighted, err := gorgonia.HadamardProd(row, b.column("weight", r.Weight))
		if err != nil {
			return nil, err
		}
		return gorgonia.Sum(weighted)
	})
	if b.err != nil {
		return nil
	}
	for i, node := range []*gorgonia.Node{total, logProb, entropy, value} {
		if node != nil {
			b.results = append(b.results, node, gorgonia.Read(node, &g.results[i]))
		}
	}
	return total
}

// sumRows adds the sum of each row of x.
func (b *builder) sumRows(x *gorgonia.Node) *gorgonia.Node {
	return b.op(func() (*gorgonia.Node, error) { return gorgonia.Sum(x, 1) })
}

// scaled adds factor·x.
func (b *builder) scaled(factor float64, x *gorgonia.Node) *gorgonia.Node {
	return b.op(func() (*gorgonia.Node, error) {
		return gorgonia.Mul(gorgonia.NewConstant(float32(factor)), x)
	})
}
