package graph

import (
	"github.com/merit-rl/merit/core/learn/internal/gradient"
	"github.com/merit-rl/merit/core/learn/internal/net"
)

// Backend returns the backend that lets gorgonia differentiate n.
func Backend(n *net.Net, params []float32) gradient.Backend { return backend{n, params} }

type backend struct {
	net    *net.Net
	params []float32
}

// Load implements gradient.Backend: graphs read the parameters themselves.
func (backend) Load() {}

// Pass implements gradient.Backend.
func (b backend) Pass(rows int) (gradient.Differentiator, error) {
	g, err := New(b.net, b.params, rows)
	if err != nil {
		return nil, err
	}
	return pass{g}, nil
}

// pass fills a graph of a fixed number of rows; those that are missing are 0.
type pass struct{ *Graph }

// Forward implements gradient.Differentiator.
func (p pass) Forward(r gradient.Rows) error {
	fill(p.Input, r.Input)
	logits, values, err := p.Graph.Forward()
	if err != nil {
		return err
	}
	copy(r.Logits, logits)
	copy(r.Values, values)
	return nil
}

// Backward implements gradient.Differentiator. It goes forward again, as
// gorgonia's machine does both in one.
func (p pass) Backward(r gradient.Rows, dst []float32) error {
	fill(p.Input, r.Input)
	fill(p.ByLogits, r.ByLogit)
	fill(p.ByValues, r.ByValue)
	return p.Run(dst)
}

// fill copies src into dst and clears the rest.
func fill(dst, src []float32) { clear(dst[copy(dst, src):]) }
