package learn

import (
	"math"

	"github.com/merit-rl/merit/core/learn/internal/loss"
	"github.com/merit-rl/merit/core/learn/internal/net"
)

// batch is Samples made ready: the rows that count, with scaled advantages.
// Its columns but samples are indexed by position in rows.
type batch struct {
	cfg       PPOConfig
	policy    *Policy
	samples   *Samples
	rows      []int     // of samples, with weight above 0
	weight    []float64 // of mean 1
	advantage []float64 // scaled
	rms       float64   // of the advantages before scaling, after the KL term
	reference []float64 // log-probability under the KL term's reference; nil without the term
	text      []float32 // rows × inputs, encoded; nil if the policy reads features
}

// prepare checks s and makes it ready.
func (l *Learner) prepare(s *Samples) (*batch, error) {
	if err := s.check(l.policy); err != nil {
		return nil, err
	}
	b := &batch{
		cfg: l.cfg, policy: l.policy, samples: s,
		rows: make([]int, 0, s.Len()), weight: make([]float64, 0, s.Len()), advantage: make([]float64, 0, s.Len()),
	}
	var sum float64
	for i, w := range s.Weight {
		if w > 0 {
			b.rows, b.weight, b.advantage = append(b.rows, i), append(b.weight, w), append(b.advantage, s.Advantage[i])
			sum += w
		}
	}
	for i := range b.weight {
		b.weight[i] *= float64(len(b.rows)) / sum
	}
	if l.policy.text != nil {
		b.text = make([]float32, len(b.rows)*l.policy.net.Inputs)
		for i, row := range b.rows {
			l.policy.text.Encode(b.text[i*l.policy.net.Inputs:][:l.policy.net.Inputs], s.Text[row])
		}
	}
	if l.cfg.KLCoefficient > 0 {
		if err := b.refer(l.reference); err != nil {
			return nil, err
		}
	}
	if l.cfg.KLIn == KLInReward && b.reference != nil {
		b.penalise(l.klCoefficient)
	}
	b.scale()
	return b, nil
}

// scale applies PPOConfig.AdvantageScale. Advantages that are all (nearly) equal
// to their center stay unchanged.
func (b *batch) scale() {
	var mean, square float64
	for i, a := range b.advantage {
		mean += b.weight[i] * a / float64(len(b.rows))
		square += b.weight[i] * a * a / float64(len(b.rows))
	}
	b.rms = math.Sqrt(square)
	centre, divisor := 0.0, 1.0
	switch b.cfg.AdvantageScale {
	case ScaleRMS:
		divisor = b.rms
	case ScaleWhiten:
		centre, divisor = mean, math.Sqrt(max(0, square-mean*mean))
	}
	if divisor < 1e-8 {
		divisor = 1
	}
	for i := range b.advantage {
		b.advantage[i] = (b.advantage[i] - centre) / divisor
	}
}

// refer finds the log-probability of each action under params, or takes that
// of the policy that acted if params is nil.
func (b *batch) refer(params []float32) error {
	b.reference = make([]float64, len(b.rows))
	if params == nil {
		for i, row := range b.rows {
			b.reference[i] = b.samples.LogProb[row]
		}
		return nil
	}
	n := b.policy.net
	buffers := n.NewBuffers()
	buffers.Load(params, len(b.rows))
	for from := 0; from < len(b.rows); from += net.MaxRows {
		part := b.rows[from:min(from+net.MaxRows, len(b.rows))]
		for i := range part {
			copy(buffers.Input[i*n.Inputs:], b.input(from+i))
		}
		n.Forward(buffers, len(part))
		for i, row := range part {
			s, err := newSoftmax(buffers.Logits[i*n.Actions:][:n.Actions], b.samples.mask(row))
			if err != nil {
				return inRow(err, row)
			}
			b.reference[from+i] = s.logProb(int(b.samples.Action[row]))
		}
	}
	return nil
}

func (b *batch) input(i int) []float32 {
	if b.text != nil {
		return b.text[i*b.policy.net.Inputs:][:b.policy.net.Inputs]
	}
	return b.samples.Features[b.rows[i]]
}

// fill writes positions from ≤ j < to of a minibatch of those rows of b. Each
// row's weight is multiplied by scale.
func (b *batch) fill(dst *loss.Rows, rows []int, from, to int, scale float64) {
	inputs, actions := b.policy.net.Inputs, b.policy.net.Actions
	for j := from; j < to; j++ {
		i := rows[j]
		row := b.rows[i]
		copy(dst.Input[j*inputs:][:inputs], b.input(i))
		available := dst.Mask[j*actions:][:actions]
		if mask := b.samples.mask(row); mask != nil {
			copy(available, mask)
		} else {
			for a := range available {
				available[a] = 1
			}
		}
		dst.Action[j], dst.Sequence[j] = b.samples.Action[row], b.sequence(i)
		dst.Old[j] = float32(b.samples.LogProb[row])
		dst.Advantage[j] = float32(b.advantage[i])
		dst.Weight[j] = float32(b.weight[i] * scale)
		if b.reference != nil {
			dst.Reference[j] = float32(b.reference[i])
		}
		if b.policy.net.Critic != nil {
			dst.Target[j] = float32(b.samples.Return[row])
			dst.Estimate[j] = float32(b.samples.Value[row])
		}
	}
}
