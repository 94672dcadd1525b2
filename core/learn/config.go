package learn

import (
	"fmt"
	"strings"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/learn/internal/gradient"
	"github.com/merit-rl/merit/core/learn/internal/graph"
	"github.com/merit-rl/merit/core/learn/internal/net"
)

// Backend names what differentiates the network.
type Backend string

// The backends: backpropagation written out for the networks that are used most,
// and gorgonia's automatic differentiation, which also takes the others and is
// slower.
const (
	backendKernels  Backend = "kernels"
	BackendGorgonia Backend = "gorgonia"
)

// Config describes how the embedded network is differentiated.
type Config struct {
	// Backend computes the gradient. kernels is fast. gorgonia is slower, but also
	// supports the activations gelu, leaky_relu, softplus and mish,
	// policy.layer_norm and policy.residual. Both compute the same gradient up to
	// rounding.
	Backend Backend `yaml:"backend" json:"backend" jsonschema:"enum=kernels,enum=gorgonia"`
}

// DefaultConfig returns the fast backend.
func DefaultConfig() Config { return Config{Backend: backendKernels} }

// Validate returns every problem of c, with key paths relative to the stage.
func (c Config) Validate() []error {
	return fault.Validate(&c)
}

// Takes returns why the backend of c cannot train the network p, one problem a
// key of p.
func (c Config) Takes(p PolicyConfig) []error {
	if c.Backend != backendKernels {
		return nil
	}
	activation, _ := net.ParseActivation(p.Activation) // p.Validate reports a wrong name
	var problems fault.Problems
	for _, key := range (net.Shape{Activation: activation, LayerNorm: p.LayerNorm, Residual: p.Residual}).Beyond() {
		value := any(true)
		if key == "activation" {
			value = p.Activation
		}
		problems.Check(false, key, value, "set learner.backend: gorgonia, which is slower; the kernels cannot differentiate it")
	}
	return problems
}

// backend makes the backend of c for p.
func (c Config) backend(p *Policy) (gradient.Backend, error) {
	if c.Backend == BackendGorgonia {
		return graph.Backend(p.net, p.params), nil
	}
	if keys := p.net.Beyond(); len(keys) > 0 {
		return nil, &fault.Error{
			Boundary: fault.Config, Kind: fault.Invalid, Where: "learner.backend",
			What: fmt.Sprintf("the kernels cannot differentiate a network with policy.%s", strings.Join(keys, " and policy.")),
			Hint: "set learner.backend: gorgonia",
		}
	}
	return gradient.Kernels(p.net, p.params), nil
}
