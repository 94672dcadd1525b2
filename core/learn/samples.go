package learn

// Samples is a batch of decisions to learn from, as columns of one length.
// Feature rows may share memory with the rollout; nothing is written to.
type Samples struct {
	Features  [][]float32 // rows of the policy's inputs; nil if the policy reads Text
	Text      []string    // the observation's text; nil if the policy reads Features
	Mask      [][]byte    // rows of the actions, 1 = available; nil, or a nil row, = all
	Action    []int32     // index of the action taken
	LogProb   []float64   // its log-probability when it was taken, nats
	LogitMax  []float32   // largest available logit then: the shift that keeps exp finite
	Advantage []float64
	Weight    []float64 // of the row in the loss, ≥ 0; 0 = the row takes no part
	Return    []float64 // target of the critic; nil if the policy has none
	Value     []float64 // the critic's estimate then; nil if the policy has none
}

// Len returns the number of rows.
func (s *Samples) Len() int { return len(s.Action) }
