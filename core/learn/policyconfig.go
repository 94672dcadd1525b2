package learn

import (
	"fmt"

	"github.com/merit-rl/merit/core/fault"
)

// PolicyConfig describes the network of a Policy.
type PolicyConfig struct {
	// Hidden lists the widths of the fully connected hidden layers. Without any, the
	// policy is linear (after the convolutions, if there are any).
	Hidden []int `yaml:"hidden" json:"hidden"`
	// Activation is the activation function after each convolution and hidden layer.
	// gelu, leaky_relu, softplus and mish need learner.backend: gorgonia.
	Activation string `yaml:"activation" json:"activation" jsonschema:"enum=relu,enum=tanh,enum=sigmoid,enum=silu,enum=gelu,enum=leaky_relu,enum=softplus,enum=mish"`
	// LayerNorm normalizes the input of each fully connected layer that follows
	// another layer. It needs learner.backend: gorgonia.
	LayerNorm bool `yaml:"layer_norm" json:"layer_norm"`
	// Residual adds the input of a hidden layer to its output if both have the same
	// width. It needs learner.backend: gorgonia.
	Residual bool `yaml:"residual" json:"residual"`
	// Convolution describes the convolutions before the hidden layers. They need
	// features of shape [channels rows columns].
	Convolution Convolution `yaml:"convolution" json:"convolution"`
	// ValueHead adds a critic that shares the hidden layers.
	ValueHead bool `yaml:"value_head" json:"value_head"`
	// Ngrams describes how the network reads text if the environment provides no
	// features.
	Ngrams Ngrams `yaml:"ngrams" json:"ngrams"`
	// InitScale multiplies the standard deviation √(2/fan-in) of the initial weights
	// (He et al. 2015).
	InitScale float64 `yaml:"init_scale" json:"init_scale" jsonschema:"minimum=1e-6,maximum=1e3"`
	// InitFanIn is the fan-in of the first layer: how many of its inputs are usually
	// not zero. 0 counts all inputs.
	InitFanIn int `yaml:"init_fan_in" json:"init_fan_in" jsonschema:"minimum=0" hint:"use the usual number of non-zero inputs, or 0 to count them all"`
	// InitLast multiplies the initial weights of the output layers. With a small
	// value the initial policy is nearly uniform.
	InitLast float64 `yaml:"init_last" json:"init_last" jsonschema:"minimum=0,maximum=1e3"`
}

// Convolution is a stack of layers with stride 1 and zero padding that keeps
// rows and columns.
type Convolution struct {
	// Filters lists the output channels of each layer; without any there are no
	// convolutions.
	Filters []int `yaml:"filters" json:"filters"`
	// Kernel is the side of the square kernel, an odd number.
	Kernel int `yaml:"kernel" json:"kernel"`
}

// Ngrams describes the hashed n-gram features of a text (feature hashing with
// signs, Weinberger et al. 2009).
type Ngrams struct {
	// Dimensions is the length of the feature vector.
	Dimensions int `yaml:"dimensions" json:"dimensions" jsonschema:"minimum=1,maximum=1048576"`
	// Min is the length of the shortest n-grams.
	Min int `yaml:"min" json:"min" jsonschema:"minimum=1,maximum=16"`
	// Max is the length of the longest n-grams.
	Max int `yaml:"max" json:"max" jsonschema:"minimum=1,maximum=16"`
	// Unit is what an n-gram consists of: characters or words.
	Unit string `yaml:"unit" json:"unit" jsonschema:"enum=characters,enum=words"`
}

// The units of an n-gram.
const (
	unitCharacters = "characters"
	UnitWords      = "words"
)

// Bounds that keep a typing error from asking for the machine's memory.
const (
	maxLayers     = 16
	maxWidth      = 1 << 14
	maxKernel     = 15
	maxNgram      = 16
	maxParameters = 1 << 27
)

// DefaultPolicyConfig returns the network of the quickstart: two hidden layers
// of 64 with ReLU, no critic.
func DefaultPolicyConfig() PolicyConfig {
	return PolicyConfig{
		Hidden: []int{64, 64}, Activation: "relu", Convolution: Convolution{Kernel: 3},
		Ngrams:    Ngrams{Dimensions: 1024, Min: 1, Max: 3, Unit: unitCharacters},
		InitScale: 1, InitFanIn: 24, InitLast: 0.01,
	}
}

// Validate returns every problem of c, with key paths relative to the stage.
func (c PolicyConfig) Validate() []error {
	p := fault.Validate(&c)
	layers(&p, "hidden", c.Hidden)
	layers(&p, "convolution.filters", c.Convolution.Filters)
	if len(c.Convolution.Filters) > 0 {
		k := c.Convolution.Kernel
		p.Check(k >= 1 && k <= maxKernel && k%2 == 1, "convolution.kernel", k, fmt.Sprintf("use an odd number from 1 to %d", maxKernel))
	}
	n := c.Ngrams
	p.Check(n.Max >= n.Min && n.Max <= maxNgram, "ngrams.max", n.Max, fmt.Sprintf("use a whole number from ngrams.min to %d", maxNgram))
	return p
}

func layers(p *fault.Problems, key string, widths []int) {
	if len(widths) > maxLayers {
		p.Invalid(key, fmt.Sprintf("has %d layers, which is too many", len(widths)), fmt.Sprintf("use at most %d", maxLayers))
	}
	for i, w := range widths {
		p.Whole(fmt.Sprintf("%s[%d]", key, i), w, 1, maxWidth)
	}
}
