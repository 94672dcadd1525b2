package advantage

import (
	"errors"
	"fmt"
	"math"
)

// Moments describe the values that an estimator whitened over its whole batch,
// to the last bit: with them a part of the batch gets the same advantages
// again. N is 0 where an estimator whitens nothing.
type Moments struct {
	N         int     // values
	Mean      float64 // of them
	Deviation float64 // of them, divisor n−1
}

// ErrMoments says that a part of a batch cannot be whitened by itself.
var ErrMoments = errors.New("it whitens over the whole batch, so a part of a batch needs the moments of all of it")

// EstimatePart is Estimate for some whole groups of a batch, with the moments that
// Estimate found for all of it. Every number is the same to the last bit; anchor
// groups are numbered within the part. Settings that whiten (see
// [Config.Whitens]) need moments, all others do not.
func EstimatePart(cfg Config, rows *Rows, moments *Moments, dst *Result) error {
	whitens := cfg.Whitens()
	if whitens && moments == nil {
		return fmt.Errorf("estimator %s: %w", cfg.Estimator, ErrMoments)
	}
	if err := Estimate(cfg, rows, dst); err != nil || !whitens {
		return err
	}
	dst.Moments = *moments
	switch {
	case lookup(cfg.Estimator).combines:
		dst.whitenAgain(dst.Episode, dst.Return, cfg.Epsilon)
		Combine(dst.Advantage, dst.Episode, dst.Step, cfg.Combine, cfg.Omega)
	case cfg.Estimator == "reinforce_pp_baseline", cfg.Estimator == "gdpo":
		dst.whitenAgain(dst.Step, dst.Episode, cfg.Epsilon)
		copy(dst.Advantage, dst.Step)
	default:
		dst.whitenAgain(dst.Step, dst.Return, cfg.Epsilon)
		copy(dst.Advantage, dst.Step)
	}
	dst.count(rows)
	dst.show()
	return nil
}

// whitenAgain writes x, whitened by the moments of the whole batch, to out.
func (d *Result) whitenAgain(out, x []float64, epsilon float64) {
	f := d.Moments.Deviation + epsilon
	for i, member := range d.scratch.member {
		out[i] = 0
		if member >= 0 && d.Moments.N > 1 {
			out[i] = (x[i] - d.Moments.Mean) / f
		}
	}
}

// whitened returns the moments of the one population that whiten compared.
func (s *scratch) whitened() Moments {
	if len(s.moments) == 0 {
		return Moments{}
	}
	m := s.moments[0]
	return Moments{N: m.n, Mean: m.mean, Deviation: math.Sqrt(m.m2 / float64(max(m.n-1, 1)))}
}
