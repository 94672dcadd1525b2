package net

import "math"

// NormEpsilon keeps the divisor of Normalise from 0.
const NormEpsilon = 1e-5

// Normalise writes x, cut into rows of that width, into dst with the mean of
// each row shifted to 0 and its variance scaled to 1 (Ba et al. 2016, arXiv
// 1607.06450). It learns no gain and no offset: the weights and biases of the
// next layer can express both. dst may be x.
func Normalise[F float32 | float64](dst, x []F, width int) {
	for ; len(x) > 0; x, dst = x[width:], dst[width:] {
		var mean, square float64
		for _, v := range x[:width] {
			mean += float64(v) / float64(width)
		}
		for _, v := range x[:width] {
			square += (float64(v) - mean) * (float64(v) - mean) / float64(width)
		}
		scale := 1 / math.Sqrt(square+NormEpsilon)
		for i, v := range x[:width] {
			dst[i] = F((float64(v) - mean) * scale)
		}
	}
}

// Normalises reports whether the input of layer i, in the order of Layers, is
// normalized: that of each fully connected layer that follows another layer.
func (n *Net) Normalises(i int) bool {
	return n.LayerNorm && len(n.Torso) > 0 && i > 0 && n.all[i].Patches == nil
}

// Adds reports whether layer i of the torso adds its input to its result.
func (n *Net) Adds(i int) bool {
	l := &n.Torso[i]
	return n.Residual && i > 0 && l.Patches == nil && l.In == l.Out
}

// Beyond names what of n the kernels cannot differentiate: keys of the policy,
// as its configuration calls them.
func (s Shape) Beyond() (keys []string) {
	if s.Activation > SiLU {
		keys = append(keys, "activation")
	}
	if s.LayerNorm {
		keys = append(keys, "layer_norm")
	}
	if s.Residual {
		keys = append(keys, "residual")
	}
	return keys
}
