package train

import (
	"github.com/merit-rl/merit/core/advantage"
	"github.com/merit-rl/merit/core/align"
	"github.com/merit-rl/merit/core/learn"
)

func samplesFrom(b *align.Batch, r *advantage.Result) (*learn.Samples, error) {
	s := &learn.Samples{}
	for i, st := range b.Steps {
		s.Action = append(s.Action, int32(st.Action.Choice))
		s.LogProb = append(s.LogProb, st.LogProb)
		if st.Policy != nil {
			s.Features = append(s.Features, st.Policy.Features)
			s.Mask = append(s.Mask, st.Policy.Mask)
			s.LogitMax = append(s.LogitMax, st.Policy.LogitMax)
		}
		s.Advantage = append(s.Advantage, r.Advantage[i])
		s.Weight = append(s.Weight, r.Weight[i])
	}
	return s, nil
}
